import { describe, expect, test } from "vitest";
import type { WhatIfReport, WhatIfSide } from "../api/answers";
import type { Pool } from "../api/types";
import { differences, documentOf, isOther, rowsOf, servedUnits, split, trialOf, triedOf, weightSum, withAllocation } from "./trial";

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

test("what nobody changed is sent as it is, and nothing else", () =>
  expect(documentOf(pool, triedOf(pool))).toEqual({
    id: "team", name: "Team", provider: "kimi", mode: "enforce", rule: "threshold", reserve: 100, onDegraded: "closed", connections: pool.connections, modelCaps: pool.modelCaps,
    allocations: [
      { apiKeyId: "ann", weight: "20", policy: "hard", caps: [{ unit: "usd", window: "daily", value: 20 }] },
      { apiKeyId: "bob", weight: "70", policy: "soft", suspended: true },
      { apiKeyId: "*", weight: "10", policy: "burst" },
    ],
  }));

test("what was changed is sent, and said", () => {
  const tried = { ...withAllocation(withAllocation(triedOf(pool), "ann", { weight: "40.5", policy: "soft" }), "bob", { suspended: false }), mode: "observe" as const };
  expect(documentOf(pool, tried).allocations?.slice(0, 2)).toEqual([
    { apiKeyId: "ann", weight: "40.5", policy: "soft", caps: [{ unit: "usd", window: "daily", value: 20 }] },
    { apiKeyId: "bob", weight: "70", policy: "soft" },
  ]);
  expect(differences(pool, tried)).toEqual([
    { what: "mode", before: "enforce", after: "observe" },
    { what: "weight of ann", before: "20", after: "40.5" },
    { what: "policy of ann", before: "hard", after: "soft" },
    { what: "bob", before: "suspended", after: "not suspended" },
  ]);
});

test("another way to write a number is no difference", () => {
  expect(differences(pool, withAllocation(triedOf(pool), "ann", { weight: " 20.0 " }))).toEqual([]);
  expect(differences(pool, withAllocation(triedOf(pool), "ann", { weight: "x" }))).toHaveLength(1);
});

test("weights are split evenly, and summed", () => {
  expect(split(triedOf(pool)).allocations.map((a) => a.weight)).toEqual(["33.34", "33.33", "33.33"]);
  expect(weightSum(triedOf(pool))).toBe("100");
  expect(weightSum(withAllocation(triedOf(pool), "ann", { weight: "0.1" }))).toBe("80.1");
  expect(weightSum(withAllocation(triedOf(pool), "ann", { weight: "-1" }))).toBeNull();
});

test("a day is the log's last, other ranges end now", () => {
  const now = Date.parse("2026-09-21T14:00:00Z");
  expect(trialOf(pool, triedOf(pool), "day", now)).not.toHaveProperty("from");
  expect(trialOf(pool, triedOf(pool), "week", now).from).toBe("2026-09-14T14:00:00.000Z");
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

  test("units in which nobody consumed are left out", () => expect(servedUnits(report([]))).toEqual(["requests", "tokens"]));
});
