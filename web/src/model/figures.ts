/** The figures above all pools. */
import type { Amount } from "../api/json";
import type { KeyUse, Pool, Usage, UsedDimension } from "../api/types";
import { decimal, digits, percentOf, roughly, sum } from "../words/decimal";
import type { Known } from "./blocked";
import { usedUp } from "./health";
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
  /** It is blocked and has share left, because others have used it up. */
  readonly robbed: boolean;
}

/**
 * How many times its share a key has: for order alone. Not compared exactly,
 * because it is asked for every key of every pool whenever one of them changes.
 */
function timesShare({ key: { consumed, fairShare } }: Use): number {
  const used = roughly(consumed);
  return used === 0 ? 0 : used / roughly(fairShare ?? 0);
}

/** Above its share where that counts: in a busy dimension. */
const above = (use: Use): boolean => use.key.borrowing && use.dimension.mode === "strict";

/** How bad a use is, the worst first: robbed, above its share while shares count, then by how much of it is used. */
function worst(a: Use, b: Use): number {
  return Number(b.robbed) - Number(a.robbed) || Number(above(b)) - Number(above(a)) || timesShare(b) - timesShare(a);
}

/**
 * Who has used something, each key of a pool once, by the dimension in which it is
 * worst: another one may be nearer to its limit, and everybody fair there. A pool
 * that is off holds nobody to a share.
 */
export function uses(all: readonly Known[]): Use[] {
  return all.flatMap(({ pool, usage }) => (usage === null || pool.mode === "off" ? [] : usesOf(pool, usage))).sort(worst);
}

function usesOf(pool: Pool, usage: Usage): Use[] {
  const dimensions = usage.dimensions.filter((d) => d.limit !== null);
  const robbed = robbedIn(usage, dimensions);
  const byKey = new Map<string, Use>();
  for (const dimension of dimensions) {
    for (const key of dimension.perKey) {
      if (!ownRow(key) || key.fairShare === null) continue;
      const use = { pool, dimension, key, robbed: robbed(dimension, key) };
      const known = byKey.get(key.apiKeyId);
      if (!known || worst(use, known) < 0) byKey.set(key.apiKeyId, use);
    }
  }
  return [...byKey.values()].filter((use) => use.robbed || timesShare(use) > 0);
}

/** Who is blocked because nothing is left, and has share left of what is used up, and more than its share of none of it. */
function robbedIn(usage: Usage, dimensions: readonly UsedDimension[]): (d: UsedDimension, key: KeyUse) => boolean {
  const stopped = new Set(usage.keys.filter((v) => v.decision === "block" && v.reason === "global-saturated").map((v) => v.apiKeyId));
  if (stopped.size === 0) return () => false;
  const full = dimensions.filter(usedUp);
  // Where none of the pool's is, it is a window of an account, and any may be behind it.
  const behind = new Set(full.length > 0 ? full : dimensions);
  const guilty = borrowers([...behind]);
  const shareLeft = ({ consumed, fairShare }: KeyUse): boolean => fairShare !== null && roughly(consumed) < roughly(fairShare);
  return (d, key) => behind.has(d) && stopped.has(key.apiKeyId) && !guilty.has(key.apiKeyId) && shareLeft(key);
}

/** Whether everybody gets its share: how many keys do not, and who has more than its own. */
export interface Fairness {
  /** Are blocked, and have share left. */
  readonly robbed: number;
  /** Have more than their share while shares count. */
  readonly above: number;
  /** Of those, how many in pools that only observe. */
  readonly observed: number;
  /** Have more than their share of what others leave. */
  readonly borrowing: number;
}

export function fairness(found: readonly Use[]): Fairness {
  const over = found.filter(above);
  return {
    robbed: found.filter((use) => use.robbed).length,
    above: over.length,
    observed: over.filter(({ pool }) => pool.mode === "observe").length,
    borrowing: found.filter((use) => use.key.borrowing).length - over.length,
  };
}
