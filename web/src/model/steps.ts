/** The first steps of a pool, from nothing to shares that hold. */
import type { Pool, Usage } from "../api/types";
import { compare } from "../words/decimal";

export type StepName = "events" | "readings" | "asked" | "observed" | "enforced";

export interface Step {
  readonly name: StepName;
  readonly done: boolean;
  /** It can be left out: the pool works without. */
  readonly optional: boolean;
}

/** What was seen of a pool at some time, which its usage may have forgotten. */
export interface Seen {
  readonly events: boolean;
  readonly asked: boolean;
}

const used = (usage: Usage): boolean => usage.dimensions.some((d) => compare(d.consumedTotal, 0) > 0);
const held = (usage: Usage): boolean => usage.dimensions.some((d) => compare(d.heldTotal, 0) > 0);

export function steps(pool: Pool, usage: Usage | null, seen: Seen): Step[] {
  const limited = usage?.dimensions.some((d) => d.unit !== "percent" && d.limit !== null) ?? false;
  return [
    { name: "events", done: seen.events || (usage !== null && used(usage)), optional: false },
    // Limits of a plan are enforced without a word of the provider.
    { name: "readings", done: (usage?.signals.length ?? 0) > 0, optional: limited },
    { name: "asked", done: seen.asked || (usage !== null && held(usage)), optional: false },
    { name: "observed", done: pool.mode !== "off" && (usage?.enforcing ?? false), optional: false },
    { name: "enforced", done: pool.mode === "enforce" && (usage?.enforcing ?? false), optional: false },
  ];
}
