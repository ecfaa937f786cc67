/** Names among words and figures. */

/** What is written from right to left, and what turns the direction of a text. */
const turning = /[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * A name as a part of a longer text. One from right to left would take the
 * figures behind it along: "5 allocations" would stand before the name.
 */
export function isolated(name: string): string {
  return turning.test(name) ? `\u2068${name}\u2069` : name;
}
