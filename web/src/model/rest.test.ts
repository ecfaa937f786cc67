import { expect, test } from "vitest";
import type { ExplainedLine } from "../api/answers";
import type { Unit } from "../api/types";
import { restOf } from "./rest";

const line = (unit: Unit, ...consumed: string[]): ExplainedLine => ({
  unit, window: "weekly", from: "2026-09-21T13:00:00.000Z", consumed: null, found: "0", events: 0, top: [],
  keys: consumed.map((amount, place) => ({ apiKeyId: `key-${place}`, consumed: amount })),
});
const ten = Array.from({ length: 10 }, () => "1");

test.each([
  ["points of no key", line("percent", "132.5", "18.333333"), "165.833333", { amount: "15", whose: "nobodys" }],
  ["all points are somebody's", line("percent", "40.5", "9.5"), "50", null],
  ["a correction that took back more than there was", line("percent", "60"), "50", null],
  ["what is rounded of requests is nobody's business", line("requests", "704"), "704.001", null],
  ["keys that are not listed", line("requests", ...ten), "12.5", { amount: "2.5", whose: "unlisted" }],
  ["keys that are not listed, and no key", line("percent", ...ten), "12.5", { amount: "2.5", whose: "both" }],
  ["as many as are listed, and all", line("tokens", ...ten), "10", null],
])("%s", (_, of, total, rest) => {
  expect(restOf(of, total)).toEqual(rest);
});
