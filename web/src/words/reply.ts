/** What was answered to one question, in one line. */
import type { Reply } from "../api/answers";
import { type Said, verdict } from "./verdict";

/** "Blocked until 14:05: over its fair share": as verdict, of an answer. */
export function answered(reply: Reply, now: number, zone?: string): Said {
  const { decision, reason, detail, deprioritize, wouldBlock, retryAt = null } = reply;
  const why = detail === "reserved" || detail === "yield" ? { detail: detail as "reserved" | "yield" } : {};
  return verdict({ apiKeyId: "", allocation: null, decision, reason, ...why, deprioritize, retryAt, ...(wouldBlock ? { wouldBlock } : {}) }, now, zone);
}

/** "Blocked", "Would be blocked", "Allowed": for a tag, where the reason stands beside. */
export function answeredShort({ decision, wouldBlock, deprioritize }: Reply): Said {
  if (decision === "block") return { tone: "bad", text: "Blocked" };
  if (wouldBlock) return { tone: "warn", text: "Would be blocked" };
  return deprioritize ? { tone: "warn", text: "Allowed, after others" } : { tone: "good", text: "Allowed" };
}
