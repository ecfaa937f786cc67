/** Roles of tokens, in words. */
import type { Role } from "../api/identity";

const meanings: Record<Role, string> = {
  admin: "may change everything",
  read: "may look, and change nothing",
  self: "sees its own keys",
  ingest: "publishes events",
};

export function roleMeaning(role: Role): string {
  return meanings[role];
}
