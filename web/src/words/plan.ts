/** What a plan says, in words. */
import type { Dimension, Plan } from "../api/types";
import { exactAmount } from "./amount";
import { compare } from "./decimal";
import { dimensionName, windowName, windowNoun } from "./terms";

/** "1,500 requests per hour", "80 points of the provider's 5-hour window", "requests per hour: limit not known". */
export function dimensionText(d: Dimension): string {
  if (compare(d.limit, 0) === 0) return `${dimensionName(d)}: limit not known`;
  const limit = exactAmount(d.limit, d.unit);
  return d.unit === "percent" ? `${limit} of the provider's ${windowNoun(d.window)}` : `${limit} per ${windowName(d.window)}`;
}

/** One sentence on where a plan comes from, and what that means. */
export function planOrigin({ source, provider, dimensions }: Plan): string {
  if (source === "catalogue") return `Nobody set a plan for this connection, so it has what ${provider} is known to sell.`;
  if (source === "none") {
    return provider === ""
      ? "Nobody set a plan, and nobody said whose connection it is: nothing is limited."
      : `Nobody set a plan, and the catalogue has none for ${provider}: nothing is limited.`;
  }
  return dimensions.length === 0 ? "It was set by hand, and limits nothing." : "It was set by hand, and goes before the catalogue.";
}
