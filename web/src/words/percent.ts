/** Percentages, each of which says of what. */
import type { Amount } from "../api/json";
import { nbsp } from "./amount";
import { compare, cut, grouped, percentOf } from "./decimal";

/** "82.6 %". Cut off, not rounded; what is more than nothing never reads as 0. */
export function percentFigure(percent: Amount): string {
  const shown = cut(percent, 1);
  if (shown === "0" && compare(percent, 0) > 0) return `under${nbsp}0.1${nbsp}%`;
  return `${grouped(shown).replace("-", "−")}${nbsp}%`;
}

/** "82.6 % of the limit", "132 % of the limit"; "limit not known" for null. */
export function percent(value: Amount | null, of: string, unknown = "limit not known"): string {
  return value === null ? unknown : `${percentFigure(value)} of ${of}`;
}

/** So many decimals tell "under 0.1 %" from nothing: the least amount is 10^−9, and no limit reaches 10^19. */
const telling = 28;

/** part in percent of whole: "40 % of its share"; unknown when there is no whole. */
export function portion(part: Amount, whole: Amount | null, of: string, unknown = "limit not known"): string {
  return percent(whole === null ? null : percentOf(part, whole, telling), of, unknown);
}

/** As portion, of the share of a key: "132 % of its share", "a share of nothing", "no share of its own". */
export function shareWords({ consumed, fairShare }: { consumed: Amount; fairShare: Amount | null }, limit: Amount | null, of = "its share"): string {
  if (fairShare === null) return limit === null ? "limit not known" : "no share of its own";
  return portion(consumed, fairShare, of, "a share of nothing");
}
