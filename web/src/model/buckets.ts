/** How a window is counted: in two buckets, of which the older one leaves it little by little. */
import type { ExplainedLine } from "../api/answers";
import type { Window } from "../api/types";
import { percentOf } from "../words/decimal";
import { day, hour, instant } from "../words/time";

export const widths: Readonly<Record<Window, number>> = { hourly: hour, "5h": 5 * hour, daily: day, weekly: 7 * day, monthly: 30 * day };

export interface Buckets {
  /** What is from here on counts in full, what is before it counts in part. Epoch milliseconds. */
  readonly full: number;
  readonly width: number;
  /** How much of the older bucket is still in the window, in milliseconds. */
  readonly left: number;
  /** The same in percent of the bucket, cut off. */
  readonly percent: string;
}

/**
 * The buckets of a line at an instant; null for what a provider counts in cycles
 * of its own. The line begins with the older bucket, and buckets begin at whole
 * multiples of the window since 1970: a cycle that does so too would begin the
 * window, and not lie one before it.
 */
export function bucketsOf({ window, from }: Pick<ExplainedLine, "window" | "from">, at: number): Buckets | null {
  const width = widths[window];
  const full = instant(from) + width;
  const passed = at - full;
  if (instant(from) % width !== 0 || passed < 0 || passed >= width) return null;
  const left = width - passed;
  return { full, width, left, percent: percentOf(left, width, 4) ?? "0" };
}
