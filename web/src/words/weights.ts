/** What the weights of a pool mean together. */
import type { Amount } from "../api/json";
import { compare, minus, percentOf, sum } from "./decimal";
import { nbsp } from "./amount";
import type { Said } from "./verdict";

/** "Weights sum to 100." and what a sum that is another one means. */
export function weightSum(weights: readonly Amount[]): Said {
  const total = sum(weights);
  if (weights.length === 0) return { tone: "quiet", text: "Nobody has a share yet." };
  if (compare(total, 0) === 0) return { tone: "quiet", text: "All weights are 0: everybody has an equal part." };
  if (compare(total, 100) === 0) return { tone: "good", text: `Weights sum to 100.` };
  if (compare(total, 100) < 0) return { tone: "warn", text: `Weights sum to ${total}: the other ${minus(100, total)} of 100 is nobody's share.` };
  return { tone: "warn", text: `Weights sum to ${total}: more than 100, so every share is made smaller.` };
}

/** The part of the whole limit that a weight comes to: "40 % of the limit". */
export function weightPart(weight: Amount, weights: readonly Amount[]): string {
  const total = sum(weights);
  if (compare(total, 0) === 0) return `1 of ${weights.length} equal parts`;
  const whole = compare(total, 100) > 0 ? total : "100";
  return `${percentOf(weight, whole, 2) ?? "0"}${nbsp}% of the limit`;
}
