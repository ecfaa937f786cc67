import { expect, test } from "vitest";
import type { Reply } from "../api/answers";
import { answered, answeredShort } from "./reply";

const now = Date.parse("2026-09-21T14:00:00Z");

const reply: Reply = {
  decisionId: "d-1", decision: "allow", reason: "ok", deprioritize: false, scoreFactor: 1, httpStatus: 200,
  asOf: { seq: 7, time: "2026-09-21T14:00:00.000Z", lagMs: 0 },
};

test.each<[Partial<Reply>, string, string, string]>([
  [{}, "Allowed", "Allowed", "good"],
  [{ deprioritize: true }, "Allowed, after others", "Allowed, after the others", "warn"],
  [{ decision: "block", reason: "fair-share", retryAt: "2026-09-21T14:05:00.000Z" }, "Blocked", "Blocked until 14:05: over its fair share", "bad"],
  [{ decision: "block", reason: "suspended" }, "Blocked", "Blocked: suspended", "bad"],
  [{ reason: "cap-absolute", wouldBlock: true }, "Would be blocked", "Would be blocked: at its cap", "warn"],
])("%o", (change, short, long, tone) => {
  expect(answeredShort({ ...reply, ...change })).toEqual({ tone, text: short });
  expect(answered({ ...reply, ...change }, now, "UTC")).toEqual({ tone, text: long });
});
