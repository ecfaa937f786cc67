/** The fields of a pool, as people speak of them. */
import type { NewPool } from "../api/types";

const names: Record<Exclude<keyof NewPool, "id">, string> = {
  name: "its name",
  provider: "its provider",
  mode: "its mode",
  rule: "how it shares",
  reserve: "its reserve",
  onDegraded: "what it does when the engine is behind",
  connections: "its accounts",
  allocations: "its shares",
  modelCaps: "its caps for single models",
};

/** "its name"; what is no field, the key of a row say, is its own name, and "*" is everyone else. */
export function fieldName(field: string): string {
  return field === "*" ? "everyone else" : Object.hasOwn(names, field) ? names[field as keyof typeof names] : field;
}

/** "its name", "its name and its mode", "its name, its mode and ann". */
export function listed(fields: readonly string[]): string {
  const all = fields.map(fieldName);
  const last = all.pop() ?? "";
  return all.length === 0 ? last : `${all.join(", ")} and ${last}`;
}
