import { describe, expect, test } from "vitest";
import type { Amount } from "../api/json";
import type { KeyUse, KeyVerdict, Pool, Usage, UsedDimension } from "../api/types";
import { fairness, figures, uses } from "./figures";

const key = (apiKeyId: string, consumed: Amount, fairShare: Amount | null, borrowing = false, allocation: string | null = apiKeyId): KeyUse =>
  ({ apiKeyId, allocation, consumed, fairShare, borrowing }) as KeyUse;
const dim = (usedPercent: Amount | null, perKey: KeyUse[] = []): UsedDimension => ({ limit: usedPercent === null ? null : 100, consumedTotal: usedPercent ?? 0, heldTotal: 0, usedPercent, perKey }) as UsedDimension;
const pool = (id: string, ...keys: string[]): Pool => ({ id, allocations: keys.map((apiKeyId) => ({ apiKeyId })) }) as Pool;
const usage = (...dimensions: UsedDimension[]): Usage => ({ dimensions, keys: [] as KeyVerdict[] }) as Usage;

test("keys are counted once, and an unknown limit is no part of the average", () => {
  const all = [
    { pool: pool("a", "ann", "bob", "*"), usage: usage(dim(10), dim(null), dim("132.5")) },
    { pool: pool("b", "ann"), usage: usage(dim(0)) },
    { pool: pool("c"), usage: null },
  ];
  expect(figures(all)).toEqual({ pools: 3, keys: 2, averageUse: "47.5", knownLimits: 3, borrowing: 0 });
});

test("nothing is the average of nothing", () => {
  expect(figures([{ pool: pool("a"), usage: usage(dim(null)) }])).toMatchObject({ averageUse: null, knownLimits: 0 });
});

test("a key that borrows twice in a pool borrows once, and everyone else is one", () => {
  const perKey = [key("ann", 9, 5, true), key("*", 9, 5, true), key("eve", 9, 5, true, "*"), key("bob", 1, 5)];
  expect(figures([{ pool: pool("a"), usage: usage(dim(10, perKey), dim(20, perKey)) }, { pool: pool("b"), usage: usage(dim(10, perKey)) }]).borrowing).toBe(4);
});

test("who has most of its share comes first, and each key once", () => {
  const loose = dim(10, [key("ann", 1, 100)]);
  const tight = dim(80, [key("ann", 10, 20), key("bob", 30, 20), key("cat", 0, 20), key("eve", 5, null, false, null), key("dan", 1, 0)]);
  const found = uses([{ pool: pool("a"), usage: usage(loose, tight) }, { pool: pool("b"), usage: usage(dim(null, [key("fay", 1, null)])) }]);
  expect(found.map((use) => [use.key.apiKeyId, use.dimension === tight])).toEqual([["dan", true], ["bob", true], ["ann", true]]);
});

describe("who is robbed", () => {
  const tight = { ...dim(100, [key("ann", 90, 50, true), key("bob", 10, 50), key("cat", 40, 50)]), mode: "strict" } as UsedDimension;
  const with_ = (keys: Partial<KeyVerdict>[]) => uses([{ pool: pool("a"), usage: { dimensions: [tight], keys } as Usage }]);
  const blocked = (apiKeyId: string, change: Partial<KeyVerdict> = {}): Partial<KeyVerdict> => ({ apiKeyId, decision: "block", reason: "global-saturated", ...change });

  test("comes first, and who has taken it is not", () => {
    const found = with_([blocked("ann"), blocked("bob")]);
    expect(found.map((use) => use.key.apiKeyId)).toEqual(["bob", "ann", "cat"]);
    expect(fairness(found)).toEqual({ robbed: 1, above: 1, observed: 0, borrowing: 0 });
  });

  test.each<[string, Partial<KeyVerdict>]>([
    ["in a pool that observes", { decision: "allow", wouldBlock: true }],
    ["at its own cap", { reason: "cap-absolute" }],
  ])("nobody is who stops %s", (_, change) => expect(fairness(with_([blocked("bob", change)])).robbed).toBe(0));

  test("nobody is who has had all of its share", () => {
    const had = { ...tight, perKey: [key("ann", 90, 50, true), key("bob", "50.000", 50), key("cat", "49.999", 50)] } as UsedDimension;
    const found = uses([{ pool: pool("a"), usage: { dimensions: [had], keys: [blocked("bob"), blocked("cat")] } as Usage }]);
    expect(found.filter((use) => use.robbed).map((use) => use.key.apiKeyId)).toEqual(["cat"]);
  });

  test("nobody is while there is room, and above is only borrowing", () => {
    const loose = { ...tight, mode: "generous" } as UsedDimension;
    expect(fairness(uses([{ pool: pool("a"), usage: usage(loose) }]))).toEqual({ robbed: 0, above: 0, observed: 0, borrowing: 1 });
  });
});

describe("of several dimensions", () => {
  const strict = (percent: number, ...keys: KeyUse[]): UsedDimension => ({ ...dim(percent, keys), mode: "strict" }) as UsedDimension;
  const tokens = strict(92, key("ana", 40, 50), key("ben", 48, 50));
  const dollars = strict(61, key("ana", 60, 50, true), key("ben", 1, 50));
  const of = (change: Partial<Pool>, keys: Partial<KeyVerdict>[] = [], ...dimensions: UsedDimension[]) => uses([{ pool: { ...pool("a"), ...change }, usage: { dimensions, keys } as Usage }]);
  const told = (found: ReturnType<typeof uses>) => found.map((use) => [use.key.apiKeyId, use.dimension === dollars, use.robbed]);

  test("it is that in which a key is worst, however near to its limit another is", () => {
    const found = of({}, [], tokens, dollars);
    expect(told(found)).toEqual([["ana", true, false], ["ben", false, false]]);
    expect(fairness(found)).toEqual({ robbed: 0, above: 1, observed: 0, borrowing: 0 });
  });

  test("above a share that counts is worse than many times one that does not", () => {
    const generous = { ...dim(10, [key("ana", 200, 50, true)]), mode: "generous" } as UsedDimension;
    expect(told(of({}, [], generous, dollars))[0]).toEqual(["ana", true, false]);
  });

  test("robbed is who has more than its share of nothing that is used up, also who has used nothing", () => {
    const full = strict(100, key("ana", 99, 50, true), key("ben", 1, 50), key("cat", 0, 50));
    const keys = ["ana", "ben", "cat"].map((apiKeyId) => ({ apiKeyId, decision: "block", reason: "global-saturated" }) as const);
    expect(fairness(of({}, keys, strict(61, key("ben", 60, 50, true)), full))).toEqual({ robbed: 2, above: 1, observed: 0, borrowing: 0 });
    expect(of({}, keys, full, tokens).map((use) => [use.key.apiKeyId, use.dimension === full])).toEqual([["ben", true], ["cat", true], ["ana", true]]);
  });

  test("a pool that observes blocks nobody, and one that is off has no shares", () => {
    expect(fairness(of({ mode: "observe" }, [], dollars))).toEqual({ robbed: 0, above: 1, observed: 1, borrowing: 0 });
    expect(of({ mode: "off" }, [], dollars)).toEqual([]);
  });
});
