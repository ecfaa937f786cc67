/** How a dimension of a pool is drawn: who has which part of it, and the marks beside. */
import type { Amount } from "../api/json";
import type { KeyUse, UsedDimension } from "../api/types";
import { compare, minus, roughly, sum } from "../words/decimal";

/** What a segment stands for. */
export type SegmentKind =
  /** One key with an allocation of its own. */
  | "key"
  /** All keys without one, together. */
  | "others"
  /** What the provider counted and no key caused. */
  | "unattributed"
  /** Requests that are under way and are not counted yet. */
  | "held"
  /** By the rule guarantee: what is kept for keys, of what is left. */
  | "kept"
  /** Of the shares alone: what is left of the limit by weights that sum to less than 100. */
  | "unallocated";

export interface Segment {
  readonly id: string;
  readonly kind: SegmentKind;
  readonly amount: Amount;
  /** Where it begins and how long it is, in parts of the whole bar, 0 to 1. */
  readonly from: number;
  readonly size: number;
  /** Which colour of a key, 0 and up; −1 for what is no key. */
  readonly hue: number;
}

export interface Mark {
  readonly kind: "limit" | "threshold";
  readonly amount: Amount;
  readonly at: number;
}

export interface BarModel {
  readonly segments: readonly Segment[];
  /** The fair share of each key, one behind the other, in the order of the segments. */
  readonly shares: readonly Segment[];
  readonly marks: readonly Mark[];
  /** More than the limit is used. */
  readonly over: boolean;
  /** The limit is known, so lengths are parts of it, and not only of each other. */
  readonly known: boolean;
}

/** The keys with an allocation of their own: those without one are shown together. */
export function listed(d: UsedDimension): KeyUse[] {
  return d.perKey.filter((key) => key.allocation === key.apiKeyId && key.apiKeyId !== "*");
}

/** The part of the total that no key caused; "0" when keys caused all of it. */
export function unattributed(d: UsedDimension): string {
  const rest = minus(d.consumedTotal, sum([...listed(d).map((key) => key.consumed), d.unlisted]));
  return compare(rest, 0) > 0 ? rest : "0";
}

/** What corrections have taken from keys beyond what those had used: it is in the total, and no part of a bar can show it. */
export function givenBack(d: UsedDimension): string {
  return sum([...listed(d).map((key) => key.consumed), d.unlisted].filter((used) => compare(used, 0) < 0));
}

/** By how much parts are shorter than what they are of, so that the row ends where the total is. */
function shrunk(d: UsedDimension): number {
  const back = roughly(givenBack(d));
  if (back === 0) return 1;
  const total = Math.max(roughly(d.consumedTotal), 0);
  return total / (total - back);
}

/** Shares are rounded down: what that leaves is less than this part of the limit, and no part that somebody left out. */
const least = 0.001;

/** The part of the limit that is nobody's share; "0" for none, and where the limit is not known. */
export function unallocated({ limit, perKey }: UsedDimension): string {
  if (limit === null) return "0";
  const rest = minus(limit, sum(perKey.map((key) => key.fairShare ?? 0)));
  return roughly(rest) > least * roughly(limit) ? rest : "0";
}

/** The bar of a dimension. hues gives each key the number of its colour. */
export function bar(d: UsedDimension, hues: ReadonlyMap<string, number>): BarModel {
  const used = sum([d.consumedTotal, d.heldTotal]);
  const over = d.limit !== null && compare(used, d.limit) > 0;
  const whole = roughly(d.limit === null || over ? used : d.limit);
  const row = rowOf(whole, shrunk(d));
  for (const key of listed(d)) row.add(key.apiKeyId, "key", key.consumed, hues.get(key.apiKeyId) ?? 0);
  row.add("others", "others", d.unlisted, -1);
  row.add("unattributed", "unattributed", unattributed(d), -1);
  row.add("held", "held", d.heldTotal, -1);
  row.add("kept", "kept", d.kept ?? 0, -1);

  const shares = rowOf(whole);
  for (const key of listed(d)) shares.add(key.apiKeyId, "key", key.fairShare ?? 0, hues.get(key.apiKeyId) ?? 0);
  shares.add("others", "others", d.perKey.find((key) => key.apiKeyId === "*")?.fairShare ?? 0, -1);
  shares.add("unallocated", "unallocated", unallocated(d), -1);
  return { segments: row.segments, shares: shares.segments, marks: marks(d, whole), over, known: d.limit !== null };
}

/** Lays segments one behind the other; what is nothing has none, and what is too much is cut off at the end. */
function rowOf(whole: number, scale = 1) {
  const segments: Segment[] = [];
  let from = 0;
  return {
    segments,
    add(id: string, kind: SegmentKind, amount: Amount, hue: number): void {
      const size = whole > 0 ? Math.min((scale * roughly(amount)) / whole, 1 - from) : 0;
      if (size <= 0) return;
      segments.push({ id, kind, amount, from, size, hue });
      from += size;
    },
  };
}

function marks(d: UsedDimension, whole: number): Mark[] {
  const all: Mark[] = [];
  const mark = (kind: Mark["kind"], amount: Amount | null): void => {
    if (amount !== null && whole > 0) all.push({ kind, amount, at: Math.min(roughly(amount) / whole, 1) });
  };
  mark("threshold", d.strictAt);
  mark("limit", d.limit);
  return all;
}

/** How many colours there are before they begin anew. */
export const hueCount = 8;

/** A colour for each id, by its place: a key keeps its colour while the pool keeps its order. */
export function huesOf(ids: readonly string[]): Map<string, number> {
  return new Map(ids.map((id, place) => [id, place % hueCount]));
}
