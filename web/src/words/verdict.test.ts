import { expect, test } from "vitest";
import type { KeyVerdict } from "../api/types";
import { verdict } from "./verdict";

const now = Date.parse("2026-09-21T14:00:00Z");

const allowed: KeyVerdict = { apiKeyId: "k", allocation: "k", decision: "allow", reason: "ok", deprioritize: false, retryAt: null };

test.each<[Partial<KeyVerdict>, string, string]>([
  [{}, "good", "Allowed"],
  [{ deprioritize: true }, "warn", "Allowed, after the others"],
  [{ reason: "no-allocation", allocation: null }, "quiet", "Allowed: no share of its own"],
  [{ decision: "block", reason: "fair-share", retryAt: "2026-09-21T14:05:30.000Z" }, "bad", "Blocked until 14:05: over its fair share"],
  [{ decision: "block", reason: "global-saturated", retryAt: "2026-09-22T09:00:00.000Z" }, "bad", "Blocked until tomorrow 09:00: limit used up"],
  [{ decision: "block", reason: "suspended" }, "bad", "Blocked: suspended"],
  [{ reason: "fair-share", wouldBlock: true, retryAt: "2026-09-21T14:05:00.000Z" }, "warn", "Would be blocked: over its fair share"],
])("%o", (change, tone, text) => expect(verdict({ ...allowed, ...change }, now, "UTC")).toEqual({ tone, text }));
