/** What a role lets one do on these pages. The engine refuses what it does not allow in any case: pages only do not offer it. */
import type { Role } from "../api/identity";

/** To see everything; to change pools, plans and settings; to see the use of some keys. */
export type Action = "see" | "change" | "see-own";

const allowed: Record<Role, readonly Action[]> = {
  admin: ["see", "change", "see-own"],
  read: ["see", "see-own"],
  self: ["see-own"],
  ingest: [],
};

/** Whether the role may do it. As long as the role is not known it is offered, for most engines ask nobody who he is. */
export function may(role: Role | undefined, action: Action): boolean {
  return role === undefined || allowed[role].includes(action);
}
