import { describe, expect, test } from "vitest";
import type { WhatIfReport, WhatIfSide } from "../api/answers";
import type { Plan, Pool, Settings } from "../api/types";
import { type Base, differences, documentOf, faultFields, isOther, rowsOf, servedUnits, shiftsOf, unitsOf, split, type Tried, trialOf, triedOf, weightSum, withAllocation, withPlan } from "./trial";

const pool: Pool = {
  id: "team", name: "Team", provider: "kimi", mode: "enforce", rule: "threshold", reserve: 100, onDegraded: "closed",
  connections: [{ connectionId: "kimi-1", weight: 100, maxConcurrent: 4 }], connectionIds: ["kimi-1"],
  allocations: [
    { apiKeyId: "ann", weight: 20, policy: "hard", caps: [{ unit: "usd", window: "daily", value: 20 }] },
    { apiKeyId: "bob", weight: 70, policy: "soft", suspended: true },
    { apiKeyId: "*", weight: 10, policy: "burst" },
  ],
  modelCaps: [{ apiKeyId: "ann", model: "k2", capUnit: "requests", capValue: 50 }],
  createdAt: "2026-09-21T08:00:00.000Z", revision: 3, enforcing: true, warnings: [],
};

const plan = (connectionId: string, limit: number): Plan => ({
  connectionId, provider: "kimi", poolId: "team", dimensions: [{ unit: "requests", window: "hourly", limit }, { unit: "tokens", window: "daily", limit: 0 }], source: "manual", revision: 1, warnings: [],
});
const setting = (value: number) => ({ value, source: "default", default: value }) as const;
const settings = { saturationThreshold: setting(0.5), softDeprioritizeFactor: setting(0.7), signalTtlMs: setting(30000) } as unknown as Settings;
const base: Base = { pool, plans: [plan("kimi-1", 1500), plan("kimi-2", 1000)], settings };
const now = Date.parse("2026-09-21T14:00:00Z");
const said = (tried: Tried): string[] => differences(base, tried).map(({ what, before, after }) => `${what}: ${before} → ${after}`.replaceAll("\u00a0", " "));

test("what nobody changed is sent as it is, and nothing else", () =>
  expect(documentOf(pool, triedOf(base))).toEqual({
    id: "team", name: "Team", provider: "kimi", mode: "enforce", rule: "threshold", reserve: "100", onDegraded: "closed", connections: pool.connections, modelCaps: pool.modelCaps,
    allocations: [
      { apiKeyId: "ann", weight: "20", policy: "hard", caps: [{ unit: "usd", window: "daily", value: 20 }] },
      { apiKeyId: "bob", weight: "70", policy: "soft", suspended: true },
      { apiKeyId: "*", weight: "10", policy: "burst" },
    ],
  }));

test("what was changed is sent, and said", () => {
  const tried = { ...withAllocation(withAllocation(triedOf(base), "ann", { weight: "40.5", policy: "soft" }), "bob", { suspended: false }), mode: "observe" as const };
  expect(documentOf(pool, tried).allocations?.slice(0, 2)).toEqual([
    { apiKeyId: "ann", weight: "40.5", policy: "soft", caps: [{ unit: "usd", window: "daily", value: 20 }] },
    { apiKeyId: "bob", weight: "70", policy: "soft" },
  ]);
  expect(said(tried)).toEqual(["weight of ann: 20 → 40.5", "policy of ann: hard → soft", "bob: suspended → not suspended", "the pool: enforces → observes"]);
  expect(said(withAllocation(triedOf(base), "*", { weight: "9" }))).toEqual(["weight of everyone else: 10 → 9"]);
});

test("another way to write a number is no difference", () => {
  expect(said(withAllocation(triedOf(base), "ann", { weight: " 20.0 " }))).toEqual([]);
  expect(said(withAllocation(triedOf(base), "ann", { weight: "x" }))).toHaveLength(1);
  expect(said(withPlan(triedOf(base), "kimi-1", [{ row: 1, unit: "requests", window: "hourly", limit: "1,500" }, { row: 2, unit: "tokens", window: "daily", limit: " " }]))).toEqual([]);
  expect(said({ ...triedOf(base), settings: { saturationThreshold: "50 %", signalTtlMs: " " } })).toEqual([]);
});

test("weights are split evenly, and summed", () => {
  expect(split(triedOf(base)).allocations.map((a) => a.weight)).toEqual(["33.34", "33.33", "33.33"]);
  expect(weightSum(triedOf(base))).toBe("100");
  expect(weightSum(withAllocation(triedOf(base), "ann", { weight: "0.1" }))).toBe("80.1");
  expect(weightSum(withAllocation(triedOf(base), "ann", { weight: "-1" }))).toBeNull();
});

describe("the question", () => {
  const asked = (tried: Tried) => trialOf(base, tried, "day", now);
  test("of a day is about the log's last, of other ranges about what ends now", () => {
    expect(asked(triedOf(base))).not.toHaveProperty("from");
    expect(trialOf(base, triedOf(base), "week", now).from).toBe("2026-09-14T14:00:00.000Z");
  });
  test("of nothing is about the pool as it is now", () => expect(asked(triedOf(base))).toEqual({ pools: [documentOf(pool, triedOf(base))] }));
  test("without the pool names it alone", () => {
    const gone = { ...withAllocation(triedOf(base), "ann", { weight: "1" }), mode: "gone" as const };
    expect(asked(gone)).toEqual({ withoutPools: ["team"] });
    expect(said(gone)).toEqual(["Team: is there → is gone"]);
  });
  test("has the plans that are others, whole, and no pool that is not", () => {
    const tried = withPlan(triedOf(base), "kimi-2", [{ row: 1, unit: "requests", window: "hourly", limit: "2,000" }, { row: 3, unit: "usd", window: "daily", limit: "$20" }]);
    expect(asked(tried)).toEqual({ plans: [{ connectionId: "kimi-2", dimensions: [{ unit: "requests", window: "hourly", limit: "2000" }, { unit: "usd", window: "daily", limit: "20" }] }] });
    expect(said(tried)).toEqual([
      "requests per hour of kimi-2: 1,000 requests → 2,000 requests", "tokens per day of kimi-2: limit not known → not counted", "US dollars per day of kimi-2: not counted → $20.00",
    ]);
    expect(faultFields.limit(asked(tried), "kimi-2", 1, "limit")).toBe("plans[0].dimensions[1].limit");
  });
  test("has the settings that are others, as the engine reads them", () => {
    const tried = { ...triedOf(base), settings: { saturationThreshold: "80 %", softDeprioritizeFactor: "0.7", signalTtlMs: "5 min" } };
    expect(asked(tried)).toEqual({ settings: { saturationThreshold: "0.8", signalTtlMs: "300000" } });
    expect(said(tried)).toEqual(["when shares begin to count: 0.5 → 0.8", "how long a provider's reading stands: 30000 → 300000"]);
  });
  test("has how the pool shares alone, or in the document of the pool", () => {
    const tried: Tried = { ...triedOf(base), rule: "guarantee", reserve: "50" };
    expect(asked(tried)).toEqual({ rules: [{ poolId: "team", rule: "guarantee", reserve: "50" }] });
    expect(said(tried)).toEqual(["how it shares: by threshold → by guarantee", "the reserve: 100 % → 50 %"]);
    expect(asked(withAllocation(tried, "ann", { weight: "30" }))).toMatchObject({ pools: [{ rule: "guarantee", reserve: "50" }] });
    expect(Object.keys(asked({ ...tried, settings: { saturationThreshold: "1" } }))).toEqual(["rules", "settings"]);
    expect(asked({ ...tried, mode: "gone" })).toEqual({ withoutPools: ["team"] });
  });
  test("of a reserve is none where the pool does not share by it", () => expect(said({ ...triedOf(base), reserve: "7" })).toEqual([]));
  test("has pool, plans and settings together", () =>
    expect(Object.keys(asked({ ...withPlan(withAllocation(triedOf(base), "ann", { weight: "30" }), "kimi-1", []), settings: { saturationThreshold: "1" } }))).toEqual(["pools", "plans", "settings"]));
});

describe("the outcome", () => {
  const side = (change: Partial<WhatIfSide> = {}): WhatIfSide => ({ allowed: 8, blocked: 0, wouldBlock: 0, deprioritized: 0, served: { requests: 8, tokens: 400 }, reasons: {}, ...change });
  const row = (apiKeyId: string, after: Partial<WhatIfSide>, newlyBlocked = 0) => ({ apiKeyId, before: side(), after: side(after), newlyBlocked, newlyAllowed: 0 });
  const report = (keys: WhatIfReport["keys"]) => ({ keys, total: row("", { served: { usd: 0, tokens: 1 } }) }) as unknown as WhatIfReport;

  test.each<[Partial<WhatIfSide>, boolean]>([
    [{}, false], [{ served: { requests: "8.0", tokens: 400, usd: 0 } }, false], [{ served: { requests: 8, tokens: 399 } }, true], [{ deprioritized: 1 }, true], [{ wouldBlock: 1 }, true],
  ])("%o is another: %s", (after, other) => expect(isOther(row("a", after))).toBe(other));

  test("the keys with most changes come first, others can be left out", () => {
    const keys = [row("same", {}), row("less", { served: {} }), row("blocked", { allowed: 6, blocked: 2 }, 2)];
    expect(rowsOf(report(keys), false).map((r) => r.apiKeyId)).toEqual(["blocked", "less", "same"]);
    expect(rowsOf(report(keys), true).map((r) => r.apiKeyId)).toEqual(["blocked", "less"]);
  });

  test("those who get more are listed before those who get less, ten of each", () => {
    const served = (apiKeyId: string, difference: number | string) => ({ apiKeyId, before: 5, after: 6, difference });
    const more = Array.from({ length: 12 }, (_, place) => served(`m${place}`, 40 - place));
    const { rows, others } = shiftsOf({ shifts: [{ unit: "tokens", more, less: [served("l", "-80.0"), served("k", -1)] }, { unit: "usd", more: [], less: [served("l", -2)] }] } as unknown as WhatIfReport);
    expect(rows).toHaveLength(13);
    expect(others).toBe(2);
    expect([0, 9, 10, 11, 12].map((place) => rows[place]).map((row) => [row?.apiKeyId, row?.unit, row?.part, row?.more])).toEqual([
      ["m0", "tokens", "50", true], ["m9", "tokens", "38.75", true], ["l", "tokens", "100", false], ["k", "tokens", "1.25", false], ["l", "usd", "100", false],
    ]);
  });

  test("units in which nobody consumed are left out", () => {
    expect(servedUnits(report([]))).toEqual(["requests", "tokens"]);
    expect(unitsOf([row("a", { served: { usd: 2 } })])).toEqual(["requests", "tokens", "usd"]);
    expect(unitsOf([])).toEqual([]);
  });
});
