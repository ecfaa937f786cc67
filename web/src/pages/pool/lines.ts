/** How the charts of a pool name and colour what they draw. */
import type { Unit } from "../../api/types";
import { unlistedId } from "../../model/series";
import type { Line, Reading } from "../../parts/chart";
import { cut } from "../../words/decimal";

/** The id of all keys together: one that no key has. */
export const totalId = "";

export const totalReading = (text: string): Reading => ({ id: totalId, name: "All together", hue: "total", text });

export const nameOf = (id: string): string => (id === unlistedId ? "Keys without a share of their own" : id);

export const hueOf = (id: string, hues: ReadonlyMap<string, number>): Line["hue"] => hues.get(id) ?? "others";

/** What is counted, at the beginning of a sentence. */
export const unitNames: Record<Unit, string> = { requests: "Requests", tokens: "Tokens", usd: "US dollars", percent: "Points of the provider's windows" };

/** What a chart of a dimension counts: of points only the provider tells, and not by the minute. */
export const chartUnit = (unit: Unit): Unit => (unit === "percent" ? "tokens" : unit);

/** A number of an axis as an amount: no exponent, and none of the noise of binary fractions. */
export function tickAmount(value: number): string {
  return cut(value.toFixed(6), 6);
}
