import { describe, expect, test } from "vitest";
import type { Blocked, KeyUse, KeyVerdict, Pool, Signal, Usage, UsedDimension } from "../api/types";
import { blockedNow, grouped, type ModelAnswer } from "./blocked";

const pool = { id: "team" } as Pool;
const key = (apiKeyId: string, change: Partial<KeyVerdict>): KeyVerdict => ({
  apiKeyId, allocation: apiKeyId, decision: "allow", reason: "ok", deprioritize: false, retryAt: null, ...change,
});
const names = (keys: KeyVerdict[]): string[] => blockedNow([{ pool, usage: { keys } as Usage }], []).map((b) => b.verdict.apiKeyId);

test("who is blocked comes before who only would be, and who is free soonest comes first", () => {
  expect(
    names([
      key("free", {}),
      key("observed", { wouldBlock: true, reason: "fair-share", retryAt: "2026-09-21T14:00:00.000Z" }),
      key("suspended", { decision: "block", reason: "suspended" }),
      key("late", { decision: "block", reason: "fair-share", retryAt: "2026-09-21T16:00:00.000Z" }),
      key("soon", { decision: "block", reason: "fair-share", retryAt: "2026-09-21T15:00:00.000Z" }),
    ]),
  ).toEqual(["soon", "late", "suspended", "observed"]);
});

test("everyone else is one row", () => {
  expect(names([key("*", { decision: "block" }), key("eve", { allocation: "*", decision: "block" }), key("bob", { allocation: null, decision: "block" })])).toEqual(["*", "bob"]);
});

test("a pool without numbers blocks nobody that we know of", () => {
  expect(blockedNow([{ pool, usage: null }], [])).toEqual([]);
});

test("what was met is that of the newest block of the same key, pool and reason", () => {
  const seen = (poolId: string, apiKeyId: string, reason: Blocked["reason"], window: "daily" | "hourly"): Blocked =>
    ({ poolId, apiKeyId, reason, binding: { unit: "tokens", window } }) as Blocked;
  const blocks = [
    seen("other", "ann", "fair-share", "daily"), seen("team", "bob", "fair-share", "daily"), seen("team", "ann", "cap-absolute", "daily"),
    seen("team", "ann", "fair-share", "hourly"), seen("team", "ann", "fair-share", "daily"),
  ];
  const usage = { keys: [key("ann", { decision: "block", reason: "fair-share" })] } as Usage;
  expect(blockedNow([{ pool, usage }], blocks)[0]?.binding).toEqual({ unit: "tokens", window: "hourly" });
});

describe("without a block that was seen, numbers tell what was met", () => {
  const dim = (unit: UsedDimension["unit"], change: Partial<UsedDimension>): UsedDimension => ({ unit, window: "hourly", limit: 10, consumedTotal: 9, heldTotal: 0, perKey: [], ...change }) as UsedDimension;
  const perKey = (remaining: KeyUse["remaining"]): KeyUse[] => [{ apiKeyId: "ann", remaining } as KeyUse];
  const capped = { id: "team", allocations: [{ apiKeyId: "ann", caps: [{ unit: "usd", window: "daily", value: 2 }] }] } as unknown as Pool;

  test.each<[KeyVerdict["reason"], UsedDimension[], string | undefined]>([
    ["global-saturated", [dim("requests", {}), dim("tokens", { consumedTotal: 10 })], "tokens"],
    ["global-saturated", [dim("requests", {})], undefined],
    ["global-saturated", [dim("requests", { consumedTotal: 11 }), dim("tokens", { consumedTotal: 10 })], undefined],
    ["fair-share", [dim("requests", { perKey: perKey(null) }), dim("tokens", { perKey: perKey("0") })], "tokens"],
    ["fair-share", [dim("requests", { perKey: perKey("0.5") })], undefined],
    ["cap-absolute", [], "usd"],
    ["capacity", [dim("tokens", { consumedTotal: 10 })], undefined],
  ])("of %s", (reason, dimensions, unit) => {
    const usage = { dimensions, signals: [] as Signal[], keys: [key("ann", { decision: "block", reason })] } as Usage;
    expect(blockedNow([{ pool: capped, usage }], [])[0]?.binding?.unit).toBe(unit);
  });
});

test("keys are told together that are blocked for the same, with the minute when there is one", () => {
  const stop = (id: string, retryAt: string | null, reason: KeyVerdict["reason"] = "fair-share"): KeyVerdict => key(id, { decision: "block", reason, retryAt });
  const told = (...keys: KeyVerdict[]) => grouped(blockedNow([{ pool, usage: { dimensions: [], keys } as unknown as Usage }], [])).map((g) => [g.keys.join(), g.spread]);
  expect(told(stop("ann", "2026-09-21T14:00:01.000Z"), stop("bob", "2026-09-21T14:00:59.000Z"))).toEqual([["ann,bob", false]]);
  expect(told(stop("ann", "2026-09-21T14:00:01.000Z"), stop("bob", "2026-09-21T14:01:00.000Z"))).toEqual([["ann,bob", true]]);
  expect(told(stop("ann", null), stop("dan", "2026-09-21T14:00:02.000Z", "capacity"), stop("bob", "2026-09-21T14:00:59.000Z"), stop("eve", null))).toEqual([["dan", false], ["bob", false], ["ann,eve", false]]);
});

test("keys are not told together of which another thing is said by the rule guarantee", () => {
  const stop = (id: string, detail: "reserved" | "yield"): KeyVerdict => key(id, { decision: "block", reason: "fair-share", detail });
  const keys = [stop("ann", "reserved"), stop("bob", "yield"), stop("eve", "reserved")];
  expect(grouped(blockedNow([{ pool, usage: { dimensions: [], keys } as unknown as Usage }], [])).map((g) => g.keys)).toEqual([["ann", "eve"], ["bob"]]);
});

test("where one account has nothing left and the pool has some, it is that which is named", () => {
  const dim = (consumedTotal: number): UsedDimension => ({ unit: "percent", window: "5h", limit: 200, consumedTotal, heldTotal: 0 }) as UsedDimension;
  const signals = [{ connectionId: "cl-1", window: "5h", signal: "fresh", usedPercent: "132.5" }, { connectionId: "cl-2", window: "5h", signal: "fresh", usedPercent: 33 }] as Signal[];
  const told = (consumedTotal: number) => blockedNow([{ pool, usage: { dimensions: [dim(consumedTotal)], signals, keys: [key("ann", { decision: "block", reason: "global-saturated" })] } as unknown as Usage }], [])[0];
  expect([told(165)?.binding, told(165)?.accounts]).toEqual([{ unit: "percent", window: "5h" }, ["cl-1"]]);
  expect([told(200)?.binding, told(200)?.accounts]).toEqual([{ unit: "percent", window: "5h" }, []]);
});

test("who has reached the cap of a model is blocked for that model, once", () => {
  const answer = (apiKeyId: string, change: Partial<ModelAnswer["reply"]> = {}, poolId = "team"): ModelAnswer => ({
    poolId, apiKeyId, reply: { decision: "block", reason: "model-cap", deprioritize: false, binding: { unit: "tokens", window: "hourly", model: "glm-4" }, ...change },
  });
  const models = [
    answer("gus"), answer("bob"), answer("eve", {}, "other"), answer("cat", { decision: "allow", reason: "ok" }),
    answer("dan", { decision: "allow", wouldBlock: true }), answer("fay", { reason: "fair-share" }),
  ];
  const usage = { dimensions: [], keys: [key("gus", {}), key("bob", { decision: "block", reason: "suspended" })] } as unknown as Usage;
  const rows = blockedNow([{ pool, usage }], [], models);
  expect(rows.map(({ verdict, binding }) => [verdict.apiKeyId, verdict.reason, binding?.model])).toEqual([["bob", "suspended", undefined], ["gus", "model-cap", "glm-4"], ["dan", "model-cap", "glm-4"]]);
});
