import { describe, expect, test } from "vitest";
import type { Amount } from "../api/json";
import type { KeyUse, UsedDimension } from "../api/types";
import { bar, givenBack, hueCount, huesOf, unallocated, unattributed } from "./bar";

const key = (apiKeyId: string, consumed: Amount, fairShare: Amount | null, allocation: string | null = apiKeyId): KeyUse => ({
  apiKeyId, allocation, consumed, held: 0, fairShare, deficit: null, borrowing: false, remaining: null, burnRate: { perSecond: 0 },
});

const dimension = (change: Partial<UsedDimension>): UsedDimension => ({
  unit: "requests", window: "hourly", limit: 1000, consumedTotal: 0, heldTotal: 0, usedPercent: 0, mode: "generous",
  strictAt: 500, unlisted: 0, perConnection: [], perKey: [], burnRate: { perSecond: 0, timeToExhaustionMs: null }, ...change,
});

const busy = dimension({
  consumedTotal: 700, heldTotal: 50, unlisted: 80,
  perKey: [key("ann", 400, 500), key("bob", 200, 300), key("*", 80, 200, "*"), key("eve", 80, null, null)],
});

const hues = huesOf(["ann", "bob"]);
const brief = (b: ReturnType<typeof bar>) => b.segments.map((s) => [s.id, s.kind, s.from.toFixed(3), s.size.toFixed(3), s.hue]);

describe("bar", () => {
  test("keys, the others, what nobody caused and what is under way follow each other", () => {
    expect(brief(bar(busy, hues))).toEqual([
      ["ann", "key", "0.000", "0.400", 0],
      ["bob", "key", "0.400", "0.200", 1],
      ["others", "others", "0.600", "0.080", -1],
      ["unattributed", "unattributed", "0.680", "0.020", -1],
      ["held", "held", "0.700", "0.050", -1],
    ]);
  });

  test("ends at the total where a correction has taken more than a key had used", () => {
    const d = dimension({ consumedTotal: 300, perKey: [key("ann", 400, 500), key("ned", -200, 300)], unlisted: 100 });
    expect([givenBack(d), givenBack(busy)]).toEqual(["-200", "0"]);
    expect(brief(bar(d, hues))).toEqual([["ann", "key", "0.000", "0.240", 0], ["others", "others", "0.240", "0.060", -1]]);
    expect(bar(dimension({ consumedTotal: -100, perKey: [key("ann", 100, 500), key("ned", -200, 300)] }), hues).segments).toEqual([]);
  });

  test("shares and marks are on the same scale", () => {
    const b = bar(busy, hues);
    expect(b.shares.map((s) => [s.id, s.from, s.size])).toEqual([["ann", 0, 0.5], ["bob", 0.5, 0.3], ["others", 0.8, expect.closeTo(0.2)]]);
    expect(b.marks).toEqual([{ kind: "threshold", amount: 500, at: 0.5 }, { kind: "limit", amount: 1000, at: 1 }]);
    expect([b.over, b.known]).toEqual([false, true]);
  });

  test("more than the limit makes the bar longer than the limit", () => {
    const b = bar(dimension({ consumedTotal: 2000, usedPercent: 200, perKey: [key("ann", 2000, 1000)] }), hues);
    expect(b.over).toBe(true);
    expect(b.segments[0]?.size).toBe(1);
    expect(b.marks.map((m) => m.at)).toEqual([0.25, 0.5]);
  });

  test("without a known limit keys are parts of each other", () => {
    const b = bar(dimension({ limit: null, strictAt: null, consumedTotal: 30, perKey: [key("ann", 10, null), key("bob", 20, null)] }), hues);
    expect(b.segments.map((s) => s.size.toFixed(2))).toEqual(["0.33", "0.67"]);
    expect([b.marks, b.shares, b.known]).toEqual([[], [], false]);
  });

  test("nothing is drawn of nothing", () => {
    expect(bar(dimension({ limit: null, strictAt: null }), hues).segments).toEqual([]);
    expect(bar(dimension({}), hues).segments).toEqual([]);
  });

  test("shares that are more than the limit end with the bar", () => {
    const b = bar(dimension({ perKey: [key("ann", 0, 800), key("bob", 0, 800)] }), hues);
    expect(b.shares.map((s) => s.from + s.size)).toEqual([0.8, 1]);
  });
});

test("what nobody caused is never below nothing", () => {
  expect(unattributed(busy)).toBe("20");
  expect(unattributed(dimension({ consumedTotal: 10, perKey: [key("ann", 11, null)] }))).toBe("0");
});

test("colours begin anew", () => {
  const ids = Array.from({ length: hueCount + 1 }, (_, i) => `k${i}`);
  expect([...huesOf(ids).values()]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 0]);
});

describe("what is nobody's share", () => {
  const shares = (...all: Amount[]): UsedDimension => dimension({ perKey: [...all.map((share, i) => key(`key-${i}`, 1, share)), key("eve", 80, null, "*")] });

  test.each<[string, UsedDimension, string]>([
    ["weights sum to less", shares(300, "500.25"), "199.75"],
    ["nobody has a share", shares(0), "1000"],
    ["shares are rounded down", shares("333.333", "333.333", "333.333"), "0"],
    ["a thousandth is left", shares(999), "0"],
    ["more is left", shares("998.9"), "1.1"],
    ["the limit is not known", { ...shares(1), limit: null }, "0"],
  ])("when %s", (_, d, want) => expect(unallocated(d)).toBe(want));

  test("stands behind the shares", () => {
    expect(bar(shares(300, 500), new Map()).shares.map((s) => [s.kind, s.from, s.size])).toEqual([["key", 0, 0.3], ["key", 0.3, 0.5], ["unallocated", 0.8, expect.closeTo(0.2)]]);
    expect(bar(shares(300, 500), new Map()).segments.some((s) => s.kind === "unallocated")).toBe(false);
  });
});

test("what is kept for keys stands behind what is used, and no further than the limit", () => {
  const kept = (amount: number, change: Partial<UsedDimension> = {}) =>
    bar(dimension({ limit: 1000, strictAt: null, consumedTotal: 400, heldTotal: 100, kept: amount, keptUntil: "2026-09-21T15:00:00.000Z", perKey: [key("ann", 400, 500)], ...change }), hues);
  expect(kept(300).segments.map(({ kind, from, size }) => [kind, from, size])).toEqual([["key", 0, 0.4], ["held", 0.4, 0.1], ["kept", 0.5, 0.3]]);
  expect(kept(900).segments.at(-1)).toMatchObject({ kind: "kept", from: 0.5, size: 0.5 });
  expect(kept(0).segments.map(({ kind }) => kind)).toEqual(["key", "held"]);
  expect(kept(300).marks.map(({ kind }) => kind)).toEqual(["limit"]);
});
