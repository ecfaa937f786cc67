/** How the charts of a pool name and colour what they draw. */
import { unlistedId } from "../../model/series";
import type { Line } from "../../parts/chart";
import { cut } from "../../words/decimal";

export const nameOf = (id: string): string => (id === unlistedId ? "Keys without a share of their own" : id);

export const hueOf = (id: string, hues: ReadonlyMap<string, number>): Line["hue"] => hues.get(id) ?? "others";

/** A number of an axis as an amount: no exponent, and none of the noise of binary fractions. */
export function tickAmount(value: number): string {
  return cut(value.toFixed(6), 6);
}
