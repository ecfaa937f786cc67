/** What becomes of a limit, in a few words. */
import type { UsedDimension } from "../api/types";
import type { Outcome, Projection } from "../model/lasting";
import { amount } from "./amount";
import { windowName } from "./terms";
import { instant, moment, until } from "./time";
import type { Said } from "./verdict";

/** "Used up until 16:15", "Runs out in 40 min (14:45)", "Lasts until 16:15", "Too early to say". */
export function outcomeWords(outcome: Outcome, resetAt: string, now: number, zone?: string): Said {
  const reset = moment(instant(resetAt), now, zone);
  switch (outcome.kind) {
    case "gone":
      return { tone: "bad", text: `Used up until ${reset}` };
    case "short":
      // It was to be used up by now, and no reading says whether it is.
      if (outcome.at <= now) return { tone: "warn", text: `May be used up already, until ${reset}` };
      return { tone: "warn", text: `Runs out ${until(outcome.at, now, zone)}` };
    case "lasts":
      return { tone: "good", text: `Lasts until ${reset}` };
    case "just":
      return { tone: "warn", text: `Just about lasts until ${reset}` };
    case "early":
      return { tone: "quiet", text: `Too early to say, starts anew ${reset}` };
  }
}

/** As outcomeWords, of a limit without a reset: at the rate of the last hour. */
export function rollingWords(p: Projection, now: number, zone?: string): Said {
  switch (p.kind) {
    case "used-up":
      return { tone: "bad", text: "Used up" };
    case "ends":
      return { tone: "warn", text: `Runs out ${until(p.at, now, zone)}` };
    case "may-end":
      return { tone: "warn", text: `May run out ${until(p.at, now, zone)}` };
    case "reset":
      return { tone: "good", text: `Lasts until ${moment(p.at, now, zone)}` };
    case "lasts":
      return { tone: "good", text: "Lasts at this rate" };
    case "no-data":
    case "no-limit":
      return { tone: "quiet", text: "No rate yet" };
  }
}

/** What the rate of the last hour leads to, as a sentence. */
export function projectionWords(p: Projection, d: UsedDimension, now: number, zone?: string): string {
  switch (p.kind) {
    case "no-data":
      return "No data: a rate takes two minutes with use in the last hour.";
    case "no-limit":
      return "The limit is not known, so nobody can say how long it will last.";
    case "used-up":
      return "The limit is used up.";
    case "ends":
      return `If everybody goes on like this, it is used up ${until(p.at, now, zone)} at the earliest.`;
    case "may-end":
      return `If everybody goes on like this, it may be used up ${until(p.at, now, zone)}, unless what was used earlier counts no more by then.`;
    case "reset":
      return `If everybody goes on like this, it lasts until it starts anew ${until(p.at, now, zone)}.`;
    case "lasts":
      return `If everybody goes on like this, it lasts: that comes to ${amount(p.most, d.unit)} per ${windowName(d.window)}, of ${amount(d.limit, d.unit)}.`;
  }
}
