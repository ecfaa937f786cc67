/** What the engine would answer a key now, in one line. */
import type { KeyVerdict } from "../api/types";
import { detailShort } from "./rule";
import { reasonShort } from "./terms";
import { instant, moment } from "./time";

export type Tone = "good" | "warn" | "bad" | "quiet";

export interface Said {
  readonly tone: Tone;
  readonly text: string;
}

/**
 * "Blocked until 14:05: over its fair share", "Would be blocked: …" in a pool
 * that observes, "Allowed, after the others", "Allowed".
 */
export function verdict(v: KeyVerdict, now: number, zone?: string): Said {
  const why = detailShort(v.detail) || reasonShort(v.reason);
  if (v.decision === "block") {
    const end = v.retryAt === null ? "" : ` until ${moment(instant(v.retryAt), now, zone)}`;
    return { tone: "bad", text: `Blocked${end}: ${why}` };
  }
  if (v.wouldBlock) return { tone: "warn", text: `Would be blocked: ${why}` };
  if (v.deprioritize) return { tone: "warn", text: "Allowed, after the others" };
  return v.reason === "ok" ? { tone: "good", text: "Allowed" } : { tone: "quiet", text: `Allowed: ${why}` };
}
