/** How a pool is, in a word and a sentence. */
import type { Pool, Signal, Usage, UsedDimension } from "../api/types";
import { compare, roughly, sum } from "../words/decimal";
import { dimensionName } from "../words/terms";
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

/** The windows of which an account has nothing left by its provider's word: others of the pool may have room. */
export function spentAccounts(usage: Usage): Signal[] {
  return usage.signals.filter((s) => s.window !== "rate" && s.signal === "fresh" && s.scope === undefined && s.usedPercent !== null && compare(s.usedPercent, 100) >= 0);
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
  const state = enforced(pool, usage);
  return pool.mode === "observe" ? { ...state, means: `${state.means} The pool only observes: nobody is blocked.` } : state;
}

function enforced(pool: Pool, usage: Usage): Health {
  const full = usage.dimensions.filter(usedUp);
  if (full.length > 0) {
    return { tone: "bad", text: "Used up", means: `Nothing is left of ${full.map(dimensionName).join(" and ")}, for everybody in the pool.` };
  }
  if (usage.dimensions.some((d) => d.mode === "strict")) {
    return { tone: "warn", text: "Shares count", means: `The pool is busy, so ${heldToShares(pool)}.` };
  }
  if (pool.rule === "guarantee") {
    return { tone: "good", text: "Room is kept", means: "What keys are promised is kept for them; the rest anybody may use." };
  }
  return { tone: "good", text: "Room for all", means: "There is room, so keys may use more than their share." };
}

/** What that means for keys, by their policies: only hard ones stop at their share. */
function heldToShares({ allocations }: Pool): string {
  const hard = allocations.filter((a) => a.policy === "hard").length;
  if (hard > 0) return hard === allocations.length ? "each key is held to its share" : "each key whose policy is hard is held to its share";
  return allocations.some((a) => a.policy === "soft") ? "soft keys above their share come after the others, and none is held to it" : "shares count, and no key's policy holds it to its own";
}
