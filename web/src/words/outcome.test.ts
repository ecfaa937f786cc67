import { expect, test } from "vitest";
import type { UsedDimension } from "../api/types";
import type { Outcome, Projection } from "../model/lasting";
import { nbsp } from "./amount";
import { outcomeWords, projectionWords, rollingWords } from "./outcome";
import type { Said } from "./verdict";

const now = Date.parse("2026-09-21T14:00:00Z");
const plain = ({ tone, text }: Said): string => `${tone}: ${text.replaceAll(nbsp, " ")}`;

test.each<[Outcome, string]>([
  [{ kind: "gone" }, "bad: Used up until 16:15"],
  [{ kind: "short", at: now + 2_400_000 }, "warn: Runs out in 40 min (14:40)"],
  [{ kind: "short", at: now }, "warn: May be used up already, until 16:15"],
  [{ kind: "lasts" }, "good: Lasts until 16:15"],
  [{ kind: "just" }, "warn: Just about lasts until 16:15"],
  [{ kind: "early" }, "quiet: Too early to say, starts anew 16:15"],
])("%o", (outcome, want) => expect(plain(outcomeWords(outcome, "2026-09-21T16:15:00.000Z", now, "UTC"))).toBe(want));

test.each<[Projection, string]>([
  [{ kind: "used-up" }, "bad: Used up"],
  [{ kind: "ends", at: now + 5_400_000 }, "warn: Runs out in 1 h 30 min (15:30)"],
  [{ kind: "may-end", at: now + 5_400_000 }, "warn: May run out in 1 h 30 min (15:30)"],
  [{ kind: "reset", at: now + 5_400_000 }, "good: Lasts until 15:30"],
  [{ kind: "lasts", most: "99.5" }, "good: Lasts at this rate"],
  [{ kind: "no-data" }, "quiet: No rate yet"],
  [{ kind: "no-limit" }, "quiet: No rate yet"],
])("%o without a reset", (p, want) => expect(plain(rollingWords(p, now, "UTC"))).toBe(want));

const d = { unit: "requests", window: "hourly", limit: 3000 } as UsedDimension;

test.each<[Projection, string]>([
  [{ kind: "no-data" }, "No data: a rate takes two minutes with use in the last hour."],
  [{ kind: "no-limit" }, "The limit is not known, so nobody can say how long it will last."],
  [{ kind: "used-up" }, "The limit is used up."],
  [{ kind: "ends", at: now + 60_000 }, "If everybody goes on like this, it is used up in 1 min (14:01) at the earliest."],
  [{ kind: "may-end", at: now + 60_000 }, "If everybody goes on like this, it may be used up in 1 min (14:01), unless what was used earlier counts no more by then."],
  [{ kind: "reset", at: now + 60_000 }, "If everybody goes on like this, it lasts until it starts anew in 1 min (14:01)."],
  [{ kind: "lasts", most: "1535.42" }, "If everybody goes on like this, it lasts: that comes to 1,535.4 requests per hour, of 3,000 requests."],
])("%o", (p, want) => expect(projectionWords(p, d, now, "UTC").replaceAll(nbsp, " ")).toBe(want));
