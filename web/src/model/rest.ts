/** What the keys that are told of did not use, of what was used all together. */
import type { ExplainedLine } from "../api/answers";
import type { Amount } from "../api/json";
import { compare, minus, sum } from "../words/decimal";

export interface Rest {
  readonly amount: string;
  /** No key's, that of keys that are not listed, or nobody can say which part is which. */
  readonly whose: "nobodys" | "unlisted" | "both";
}

/** How many keys an explanation lists at most: as many as the events that were asked for. */
const cuts = [10, 1000];

/**
 * The rest of a line, so that it sums up to the total; null for none. Only points
 * can be no key's, on one connection or on several: providers count more than was
 * sent. Of all else the keys use everything, and what is missing is cut off or
 * rounded.
 */
export function restOf({ unit, keys }: ExplainedLine, total: Amount): Rest | null {
  const amount = minus(total, sum(keys.map((key) => key.consumed)));
  const all = !cuts.includes(keys.length);
  if (compare(amount, 0) <= 0 || (all && unit !== "percent")) return null;
  return { amount, whose: all ? "nobodys" : unit === "percent" ? "both" : "unlisted" };
}
