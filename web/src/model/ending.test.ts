import { expect, test } from "vitest";
import type { Explanation, Reply } from "../api/answers";
import { endsBecause } from "./ending";

const retryAt = "2026-09-21T15:00:00.000Z";
const because = (reply: Partial<Reply>): string => endsBecause({ reply } as Explanation);
const five = { unit: "percent", window: "5h" } as const;

test.each<[string, Partial<Reply>, string]>([
  ["nothing is named", { reason: "suspended" }, ""],
  ["a place", { reason: "capacity", retryAt }, "by then a place is free at the latest: a request ends, or the time it may take is over"],
  ["a share", { reason: "fair-share", retryAt, binding: { unit: "requests", window: "hourly" } }, "by then so much of what was used is more than an hour ago that the key is within its share again, or shares do not count any more"],
  ["what is kept", { reason: "fair-share", detail: "reserved", retryAt, binding: five }, "by then less has to be kept for the others, as less of the window is left and more of what was used is out of it"],
  ["those who go first", { reason: "fair-share", detail: "yield", retryAt, binding: five }, "by then less has to be kept for the others, as less of the window is left and more of what was used is out of it"],
  ["a limit", { reason: "global-saturated", retryAt, binding: { unit: "usd", window: "daily" } }, "by then so much of what was used is more than a day ago that there is room again"],
  ["a cap for five hours", { reason: "cap-absolute", retryAt, binding: { unit: "tokens", window: "5h" } }, "by then so much of what was used is more than 5 hours ago that there is room again"],
  ["a reset", { reason: "fair-share", retryAt, binding: five, dimensions: [{ ...five, resetAt: retryAt }] as Reply["dimensions"] }, "by then the provider's 5-hour window starts anew"],
])("%s", (_, reply, want) => expect(because(reply)).toBe(want));

test("a reset at another time is not what ends it", () =>
  expect(because({ reason: "fair-share", retryAt, binding: five, dimensions: [{ ...five, resetAt: "2026-09-21T15:00:00.001Z" }] as Reply["dimensions"] })).toContain("more than 5 hours ago"));
