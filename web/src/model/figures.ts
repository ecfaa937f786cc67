/** The figures above all pools. */
import type { Amount } from "../api/json";
import type { KeyUse, KeyVerdict, Pool, UsedDimension } from "../api/types";
import { decimal, digits, percentOf, roughly, sum } from "../words/decimal";
import type { Known } from "./blocked";
import { tightest } from "./health";
import { ownRow } from "./keys";

export interface Figures {
  readonly pools: number;
  /** Different keys with an allocation of their own. */
  readonly keys: number;
  /** The mean of the used percentages over all known limits; null when none is known. */
  readonly averageUse: string | null;
  readonly knownLimits: number;
  /** Keys of a pool that have more than their share of something. */
  readonly borrowing: number;
}

export function figures(all: readonly Known[]): Figures {
  const dimensions = all.flatMap(({ usage }) => usage?.dimensions ?? []);
  const used = dimensions.map((d) => d.usedPercent).filter((p) => p !== null);
  const keys = all.flatMap(({ pool }) => pool.allocations.map((a) => a.apiKeyId)).filter((id) => id !== "*");
  return {
    pools: all.length,
    keys: new Set(keys).size,
    averageUse: mean(used),
    knownLimits: used.length,
    borrowing: all.reduce((n, { usage }) => n + borrowers(usage?.dimensions ?? []).size, 0),
  };
}

/** Cut off behind six decimals; null of nothing. */
function mean(amounts: readonly Amount[]): string | null {
  if (amounts.length === 0) return null;
  const total = decimal(sum(amounts));
  // percentOf divides and multiplies by 100: two places fewer make up for that.
  return percentOf(digits({ ...total, scale: total.scale + 2 }), amounts.length, 6);
}

/** The keys that have more than their share of some dimension. */
export function borrowers(dimensions: readonly UsedDimension[]): Set<string> {
  return new Set(dimensions.flatMap((d) => d.perKey.filter((key) => key.borrowing && ownRow(key)).map((key) => key.apiKeyId)));
}

/** What one key has of one dimension of one pool. */
export interface Use {
  readonly pool: Pool;
  readonly dimension: UsedDimension;
  readonly key: KeyUse;
  readonly verdict: KeyVerdict | undefined;
}

/**
 * How many times its share a key has: for order alone. Not compared exactly,
 * because it is asked for every key of every pool whenever one of them changes.
 */
function timesShare({ consumed, fairShare }: KeyUse): number {
  const used = roughly(consumed);
  return used === 0 ? 0 : used / roughly(fairShare ?? 0);
}

/** Who has used something, by the dimension of its pool that is nearest to its limit; who is robbed first, then who has most of its share. */
export function uses(all: readonly Known[]): Use[] {
  return all
    .flatMap(({ pool, usage }) => {
      const dimension = usage && tightest(usage);
      if (!dimension || dimension.limit === null) return [];
      const verdicts = new Map(usage.keys.map((v) => [v.apiKeyId, v]));
      const keys = dimension.perKey.filter((key) => ownRow(key) && key.fairShare !== null);
      return keys.map((key) => ({ pool, dimension, key, verdict: verdicts.get(key.apiKeyId), times: timesShare(key) }));
    })
    .filter((use) => use.times > 0)
    .sort((a, b) => Number(robbed(b)) - Number(robbed(a)) || b.times - a.times);
}

/** Whether everybody gets its share: how many keys do not, and who has more than its own. */
export interface Fairness {
  /** Are blocked, and have share left. */
  readonly robbed: number;
  /** Have more than their share while shares count. */
  readonly above: number;
  /** Have more than their share of what others leave. */
  readonly borrowing: number;
}

/** It is blocked and has share left, because others have used it up. */
export function robbed({ key, verdict }: Use): boolean {
  return !key.borrowing && verdict?.decision === "block" && verdict.reason === "global-saturated";
}

export function fairness(found: readonly Use[]): Fairness {
  const above = found.filter((use) => use.key.borrowing);
  const strict = above.filter((use) => use.dimension.mode === "strict").length;
  return { robbed: found.filter(robbed).length, above: strict, borrowing: above.length - strict };
}
