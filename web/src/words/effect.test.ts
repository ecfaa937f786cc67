import { expect, test } from "vitest";
import type { Effect } from "../api/types";
import { keyName, whom, wouldBlock, wouldFree } from "./effect";

const plain = (text: string): string => text.replaceAll("\u00a0", " ");
const of = (effect: Partial<Effect>): Effect => ({ poolId: "p", apiKeyId: "ann", reason: "fair-share", retryAfterMs: null, ...effect });

test.each<[Partial<Effect>, string]>([
  [{ binding: { unit: "requests", window: "hourly" }, retryAfterMs: 250_000 }, "over its fair share of requests per hour, for 4 min 10 s at most"],
  [{ reason: "model-cap", binding: { unit: "tokens", window: "hourly", model: "k2" }, retryAfterMs: 1000 }, "at its cap for the model on tokens per hour with k2, for 1 s at most"],
  [{ reason: "suspended" }, "suspended, until somebody lifts that"],
  [{ reason: "global-saturated", binding: { unit: "percent", window: "5h" } }, "limit used up on the provider's 5-hour window, and not by itself free again"],
])("%j: %s", (effect, want) => expect(plain(wouldBlock(of(effect)))).toBe(want));

test("who is freed was blocked for something", () =>
  expect(wouldFree(of({ reason: "cap-absolute", binding: { unit: "usd", window: "daily" } }))).toBe("was at its cap on US dollars per day"));

test("the star is everyone else", () => expect([keyName("*"), keyName("ann")]).toEqual(["everyone else", "ann"]));

test.each<[string[], string]>([
  [["ann"], "1 key"],
  [["ann", "bob", "ann"], "2 keys"],
  [["ann", "*"], "1 key and everyone else"],
  [["*", "*"], "everyone else"],
])("%j is %s", (keys, want) => expect(plain(whom(keys.map((apiKeyId) => of({ apiKeyId }))))).toBe(want));
