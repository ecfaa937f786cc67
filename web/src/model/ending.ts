/** When a block ends, and by what. */
import type { Explanation } from "../api/answers";
import { dimensionName, windowName } from "../words/terms";
import { instant } from "../words/time";
import { decidedBy } from "./arithmetic";

/** Why the block ends at the instant that the engine names; "" when it names none. */
export function endsBecause(e: Explanation): string {
  const { reply } = e;
  const { retryAt, reason, binding, detail } = reply;
  if (retryAt === undefined) return "";
  if (reason === "capacity") return "by then a place is free at the latest: a request ends, or the time it may take is over";
  const decided = reply.dimensions?.find((d) => decidedBy(e, d));
  if (decided?.resetAt !== undefined && instant(decided.resetAt) === instant(retryAt)) return `by then ${dimensionName(decided)} starts anew`;
  if (!binding) return "";
  if (reason === "fair-share" && (detail === "reserved" || detail === "yield")) {
    return "by then less has to be kept for the others, as less of the window is left and more of what was used is out of it";
  }
  const lent = reason === "fair-share" ? "the key is within its share again, or shares do not count any more" : "there is room again";
  return `by then so much of what was used is more than ${length(windowName(binding.window))} ago that ${lent}`;
}

/** "hour" is said as "an hour", "5 hours" as it is. */
const length = (name: string): string => (/^\d/.test(name) ? name : name === "hour" ? "an hour" : `a ${name}`);
