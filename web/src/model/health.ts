/** How a pool is, in a word and a sentence. */
import type { Pool, Usage, UsedDimension } from "../api/types";
import { compare, roughly, sum } from "../words/decimal";
import type { Tone } from "../words/verdict";

export interface Health {
  readonly tone: Tone;
  /** A word or two, for a tag. */
  readonly text: string;
  /** One sentence that says what it means. */
  readonly means: string;
}

/** The part of its limit that is used, 0 to 1 and above; −1 when the limit is not known. For order and lengths alone. */
export function fullness(d: UsedDimension): number {
  return d.usedPercent === null ? -1 : roughly(d.usedPercent) / 100;
}

/** The dimension that is nearest to its limit; of those without a known limit the first. */
export function tightest(usage: Usage): UsedDimension | null {
  return usage.dimensions.reduce<UsedDimension | null>(
    (best, d) => (best === null || fullness(d) > fullness(best) ? d : best),
    null,
  );
}

/** Whether nothing is left of a limit: what is under way has its part of it already. */
export function usedUp({ limit, consumedTotal, heldTotal }: UsedDimension): boolean {
  return limit !== null && compare(sum([consumedTotal, heldTotal]), limit) >= 0;
}

export function health(pool: Pool, usage: Usage | null): Health {
  if (usage === null) return { tone: "quiet", text: "No numbers yet", means: "The engine has not told how this pool stands." };
  if (pool.mode === "off") return { tone: "quiet", text: "Off", means: "Usage is counted, and nothing is limited." };
  if (!usage.enforcing) {
    return {
      tone: "warn",
      text: "Enforces nothing",
      means: "No limit is known and the provider has said nothing, so nobody is held to a share.",
    };
  }
  const state = enforced(usage);
  return pool.mode === "observe" ? { ...state, means: `${state.means} The pool only observes: nobody is blocked.` } : state;
}

function enforced(usage: Usage): Health {
  if (usage.dimensions.some(usedUp)) {
    return { tone: "bad", text: "Used up", means: "A limit is used up, for everybody in the pool." };
  }
  if (usage.dimensions.some((d) => d.mode === "strict")) {
    return { tone: "warn", text: "Shares count", means: "The pool is busy, so each key is held to its share." };
  }
  return { tone: "good", text: "Room for all", means: "There is room, so keys may use more than their share." };
}
