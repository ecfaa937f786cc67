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
  [{ kind: "early" }, "quiet: Too early to say, starts anew 16:15"],
])("%o", (outcome, want) => expect(plain(outcomeWords(outcome, "2026-09-21T16:15:00.000Z", now, "UTC"))).toBe(want));

test.each<[number, number | null, string]>([
  [10, 5_400_000, "quiet: At this rate enough for 1 h 30 min"],
  [10, null, "quiet: No rate yet"],
  [100, null, "bad: Used up"],
])("%i of 100, and %s ms to go", (consumedTotal, timeToExhaustionMs, want) =>
  expect(plain(rollingWords({ limit: 100, consumedTotal, burnRate: { perSecond: 1, timeToExhaustionMs } } as UsedDimension))).toBe(want),
);

test.each<[Projection, string]>([
  [{ kind: "no-data" }, "No data: a rate takes two minutes with use in the last hour."],
  [{ kind: "no-limit" }, "The limit is not known, so nobody can say how long it will last."],
  [{ kind: "used-up" }, "The limit is used up."],
  [{ kind: "ends", at: now + 60_000 }, "If everybody goes on like this, it is used up in 1 min (14:01)."],
  [{ kind: "reset", at: now + 60_000 }, "If everybody goes on like this, it lasts until it starts anew in 1 min (14:01)."],
])("%o", (p, want) => expect(projectionWords(p, now, "UTC").replaceAll(nbsp, " ")).toBe(want));
