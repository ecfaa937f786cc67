import { describe, expect, test } from "vitest";
import type { Plans } from "../api/types";
import { compare, sum } from "../words/decimal";
import { equalWeights, poolLimits, shares, typed } from "./share";

describe("shares", () => {
  test.each([
    ["of 100 are percentages", 3000, [40, 20, 30, 10], "requests", ["1200", "600", "900", "300"]],
    ["below 100 leave the rest to nobody", 1000, [40], "requests", ["400"]],
    ["above 100 are scaled down", 1000, [100, 50], "tokens", ["666.666", "333.333"]],
    ["that are all 0 are equal parts", 100, [0, 0, 0], "percent", ["33.333333", "33.333333", "33.333333"]],
    ["beside 0 leave it nothing", 10, [100, 0], "usd", ["10", "0"]],
    ["of a third are cut off at the unit's last digit", "66.67", ["33.333333"], "usd", ["22.223333111"]],
    ["of more than a number of JavaScript holds", "999999999999.999", [50], "tokens", ["499999999999.999"]],
    ["of nobody are none", 10, [], "usd", []],
  ] as const)("%s", (_, limit, weights, unit, want) => expect(shares(limit, weights, unit)).toEqual(want));
});

test("equal weights always sum to 100, and differ by no more than the last digit", () => {
  expect(equalWeights(3)).toEqual(["33.34", "33.33", "33.33"]);
  expect(equalWeights(4)).toEqual(["25", "25", "25", "25"]);
  expect(equalWeights(0)).toEqual([]);
  for (const n of [1, 2, 6, 7, 11, 40, 10_000]) expect(compare(sum(equalWeights(n)), 100)).toBe(0);
});

test.each([["12", "12"], [" 12.5 ", "12.5"], ["", null], ["-1", null], ["1e3", null], ["1,5", null], [".5", null]])("typed %j is %j", (text, want) =>
  expect(typed(text)).toBe(want));

describe("poolLimits", () => {
  const plan = (connectionId: string, source: "manual" | "catalogue", limit: number) => ({
    connectionId, source, provider: "kimi", poolId: null, revision: 0, warnings: [],
    dimensions: [{ unit: "requests", window: "hourly", limit }] as Plans["plans"][number]["dimensions"],
  });
  const plans: Plans = {
    plans: [plan("by-hand", "manual", 1000), plan("unknown", "manual", 0), plan("as-sold", "catalogue", 9)],
    total: 3,
    catalogue: [{ provider: "kimi", aliases: ["moonshot"], dimensions: [{ unit: "requests", window: "hourly", limit: 1500 }] }],
  };
  const limit = (limits: ReturnType<typeof poolLimits>) => limits.map((d) => d.limit);

  test("are the sum over the connections", () => expect(limit(poolLimits(["by-hand", "never-seen"], "moonshot", plans))).toEqual(["2500"]));
  test("the catalogue's are those of the provider now, not of the one before", () =>
    expect(poolLimits(["as-sold"], "other", plans)).toEqual([]));
  test("one that does not know counts with the first", () => expect(limit(poolLimits(["by-hand", "unknown"], "kimi", plans))).toEqual(["2000"]));
  test("are unknown where the first does not know", () => expect(limit(poolLimits(["unknown", "by-hand"], "kimi", plans))).toEqual([null]));
  test("of nothing are none", () => expect(poolLimits([], "kimi", plans)).toEqual([]));
});
