import { describe, expect, test } from "vitest";
import type { Explanation, Judged } from "../api/answers";
import type { Plan, Pool, Settings, Signal } from "../api/types";
import { allocationOf, capOn, capsBeside, counted, inOrder, parts, type Step, stepOfCap, stepsOf, unexplained } from "./arithmetic";

const pool: Pool = {
  id: "team", name: "Team", provider: "kimi", mode: "enforce", rule: "threshold", reserve: 100, onDegraded: "open",
  connections: [{ connectionId: "kimi-1", weight: 100 }], connectionIds: ["kimi-1"],
  allocations: [
    { apiKeyId: "ann", weight: 20, policy: "hard", caps: [{ unit: "usd", window: "daily", value: 20 }], capUnit: "requests", capValue: 900 },
    { apiKeyId: "bob", weight: 70, policy: "soft" },
    { apiKeyId: "*", weight: 10, policy: "burst" },
  ],
  modelCaps: [{ apiKeyId: "ann", model: "k2", capUnit: "requests", capValue: 50 }],
  createdAt: "2026-09-21T08:00:00.000Z", revision: 3, enforcing: true, warnings: [],
};

const setting = (value: number) => ({ value, source: "default", default: value }) as const;
const settings: Settings = {
  saturationThreshold: setting(0.5), softDeprioritizeFactor: setting(0.7), consumptionRetentionDays: setting(14), signalTtlMs: setting(30000),
  holdTtlMs: setting(300000), decisionSampleRate: setting(0.01), maxLagMs: setting(5000), revision: 0,
};

const hourly: Judged = {
  unit: "requests", window: "hourly", limit: 3000, consumed: 704, held: 0, fairShare: 600, remaining: 0, consumedTotal: 1971, heldTotal: 0,
  mode: "strict", borrowing: true, deficit: 104, providerUsed: null,
};

const explained = (change: Partial<Explanation> = {}, d: Partial<Judged> = {}): Explanation => ({
  question: { apiKeyId: "ann", connectionId: "kimi-1" },
  reply: {
    decisionId: "d", decision: "block", reason: "fair-share", deprioritize: false, scoreFactor: 1, httpStatus: 429, binding: { unit: "requests", window: "hourly" },
    asOf: { seq: 10, time: "2026-09-21T14:00:00.000Z", lagMs: 0 }, dimensions: [{ ...hourly, ...d }],
  },
  rules: { pool, plans: [], settings }, signals: [], holds: { open: 0, top: [] }, consumption: [], replay: { snapshot: null, seq: 10, missing: 0 }, notes: [],
  ...change,
});

const plain = (text: string): string => text.replaceAll("\u00a0", " ");
const steps = (e: Explanation): Record<string, Step> =>
  Object.fromEntries(stepsOf(e, inOrder(e)[0] ?? hourly).map((step) => [step.id, { ...step, figures: plain(step.figures), says: plain(step.says) }]));

test("a block by the fair share, from the limit to the key", () => {
  const all = steps(explained());
  expect(Object.keys(all)).toEqual(["cap", "limit", "busy", "share", "key", "rest"]);
  expect(all["cap"]).toMatchObject({ figures: "704 used, cap 900 requests", tone: "good" });
  expect(all["limit"]).toMatchObject({ figures: "1,971 used, of 3,000 requests", says: "Yes: 1,029 requests would be left.", tone: "good", decided: false });
  expect(all["busy"]).toMatchObject({ figures: "1,971 used: 65.7 % of the limit; shares count from 50 % on, 1,500 requests", says: "Yes: the pool is busy." });
  expect(all["share"]).toMatchObject({ figures: "3,000 × 20 ÷ 100 = 600 requests", says: "The limit × its weight ÷ 100, the sum of all weights." });
  expect(all["key"]).toMatchObject({ figures: "704 used, share 600 requests", tone: "bad", decided: true });
  expect(all["key"]?.says).toBe("No: 104 requests over. Its policy is hard: stops at its fair share while shares count.");
  expect(all["rest"]).toMatchObject({ figures: "0 requests", says: "Nothing: one of the above leaves it none." });
});

const plan = (connectionId: string, ...limits: [Judged["unit"], number][]): Plan => ({
  connectionId, provider: "kimi", poolId: "team", dimensions: limits.map(([unit, limit]) => ({ unit, window: "hourly", limit })), source: "manual", revision: 1, warnings: [],
});
const reading = (connectionId: string, usedPercent: number): Signal => ({
  connectionId, window: "hourly", usedPercent, resetAt: null, observedAt: "", attributed: 0, unattributed: 0, drift: null, signal: "fresh",
});

describe("a pool of several connections", () => {
  const plans = [plan("kimi-1", ["requests", 2000]), plan("kimi-2", ["requests", 1000])];
  const of = (list: Plan[], signals: Signal[] = [], d: Partial<Judged> = {}) => steps(explained({ rules: { pool, plans: list, settings }, signals }, d));
  test("has the sum of their limits", () => expect(of(plans)["sum"]).toMatchObject({ figures: "2,000 of kimi-1 + 1,000 of kimi-2 = 3,000 requests", tone: "quiet" }));
  test("one whose plan lacks the dimension counts as the first", () =>
    expect(of([plan("a", ["requests", 1500]), plan("b", ["tokens", 9])])["sum"]?.figures).toBe("1,500 of a + 1,500 of b = 3,000 requests"));
  test("a sum that is another one than the engine's is not told", () => expect(of([plan("a", ["requests", 1500]), plan("b", ["requests", 1501])])["sum"]).toBeUndefined());
  test("more than four are not named", () =>
    expect(of("abcde".split("").map((id) => plan(id, ["requests", 600])))["sum"]?.figures).toBe("5 connections together: 3,000 requests"));
  test("what their providers say is weighed by their limits", () =>
    expect(of(plans, [reading("kimi-1", 90), reading("kimi-2", 30)], { consumedTotal: 100 })["busy"]).toMatchObject({
      figures: "100 used: 3.3 % of the limit; the providers say 90 % of kimi-1, 30 % of kimi-2: weighed by the limits 70 %; shares count from 50 % on, 1,500 requests",
      says: "Yes: the pool is busy, by what the provider says.",
    }));
  test("where one says nothing, the word of the one that serves is told", () =>
    expect(of(plans, [reading("kimi-1", 90)], { providerUsed: 90, mode: "generous" })["busy"]?.figures).toContain("; the provider says 90 % of its window; "));
});

test("exactly at the threshold the pool is busy by its own count", () => {
  expect(steps(explained({}, { consumedTotal: 1400, heldTotal: 100 }))["busy"]).toMatchObject({ figures: "1,400 used + 100 in flight = 1,500: 50 % of the limit; shares count from 50 % on, 1,500 requests", says: "Yes: the pool is busy." });
  expect(steps(explained({}, { consumedTotal: 1499.999 }))["busy"]?.says).toBe("Yes: the pool is busy, by what the provider says.");
});

describe("a fair share", () => {
  const share = (weights: number[], d: Partial<Judged>) => {
    const allocations = weights.map((weight, place) => ({ apiKeyId: place === 0 ? "ann" : `k${place}`, weight, policy: "hard" as const }));
    return steps(explained({ rules: { pool: { ...pool, allocations }, plans: [], settings } }, d))["share"];
  };
  test("of weights that sum to less than 100", () =>
    expect(share([20, 30], { fairShare: 600 })).toMatchObject({ figures: "3,000 × 20 ÷ 100 = 600 requests", says: "The limit × its weight ÷ 100. The weights sum to 50: what lacks to 100 is nobody's share." }));
  test("of weights that sum to more", () => expect(share([20, 100], { fairShare: 500 })?.figures).toBe("3,000 × 20 ÷ 120 = 500 requests"));
  test("of weights that are all 0", () =>
    expect(share([0, 0, 0], { fairShare: 1000 })).toMatchObject({ figures: "3,000 ÷ 3 = 1,000 requests", says: "All weights are 0, so each of 3 has an equal part of the limit." }));
  test("that does not divide evenly is said to be cut off", () =>
    expect(share([0, 0, 0], { limit: 1000, fairShare: "333.333" })?.says).toBe("All weights are 0, so each of 3 has an equal part of the limit. What is smaller than the smallest amount is cut off."));
  test("of everyone else is shared by them", () =>
    expect(steps(explained({ question: { apiKeyId: "zoe" } }, { fairShare: 300 }))["share"]).toMatchObject({ figures: "3,000 × 10 ÷ 100 = 300 requests", says: "The limit × the weight of everyone else, who share it between them, ÷ 100, the sum of all weights." }));
});

test("a soft key above its share goes behind, and by how much is said", () => {
  const e = explained({ question: { apiKeyId: "bob" } }, { fairShare: 600 });
  expect(steps({ ...e, reply: { ...e.reply, reason: "ok", deprioritize: true, scoreFactor: 0.7 } })["key"]?.says).toBe(
    "No: 104 requests over. Its policy is soft: goes on above its fair share, but after the others. Its request has its score × 0.7.",
  );
});

describe("room for everybody", () => {
  const limit = (d: Partial<Judged>, estimate = {}) => steps(explained({ question: { apiKeyId: "ann", estimate } }, d))["limit"];
  test("all that counts is added", () =>
    expect(limit({ consumedTotal: 1971.5, heldTotal: 20 }, { requests: 5 })).toMatchObject({
      figures: "1,971.5 used + 20 in flight + 5 asked for = 1,996.5, of 3,000 requests", says: "Yes: 1,003.5 requests would be left.",
    }));
  test("exactly full is full", () => expect(limit({ consumedTotal: 3000 })).toMatchObject({ says: "No: the limit is used up, by all keys together.", tone: "bad" }));
  test("what just fits has room", () => expect(limit({ consumedTotal: 2995 }, { requests: 5 })).toMatchObject({ tone: "good" }));
  test("what passes the limit does not fit", () =>
    expect(limit({ consumedTotal: 2995 }, { requests: 5.001 })).toMatchObject({ says: "No: the request does not fit into what is left.", tone: "bad" }));
  test("a request larger than the limit counts as the limit", () => expect(limit({ consumedTotal: 0 }, { requests: 4000 })).toMatchObject({
      figures: "0 used + 3,000 asked for = 3,000, of 3,000 requests", says: "Yes: 0 requests would be left. Of the 4,000 requests asked for no more counts than the whole limit.", tone: "good",
    }));
  test("an unknown limit is said so", () => expect(limit({ limit: null })).toMatchObject({ says: "The limit is not known, so nothing is compared.", tone: "quiet" }));
});

test("a key above its share goes on while shares do not count", () =>
  expect(steps(explained({}, { mode: "generous" }))["key"]?.says).toBe("No: 104 requests over. That is lent while shares do not count."));

test("weights that sum to more than 100 are parts of their sum, and of less of 100", () => {
  expect(parts(pool)).toBe("100");
  expect(parts({ ...pool, allocations: [{ apiKeyId: "a", weight: 60, policy: "hard" }, { apiKeyId: "b", weight: 60.5, policy: "hard" }] })).toBe("120.5");
  expect(parts({ ...pool, allocations: [] })).toBe("100");
});

test("a key without an allocation has that of everyone else", () => {
  expect(allocationOf(pool, "zoe")?.apiKeyId).toBe("*");
  expect(allocationOf({ ...pool, allocations: [] }, "zoe")).toBeNull();
});

test.each<[string, { unit: "usd" | "requests"; window: "daily" | "hourly"; model?: string }, number | null]>([
  ["ann", { unit: "usd", window: "daily" }, 20],
  ["ann", { unit: "usd", window: "hourly" }, null],
  ["ann", { unit: "requests", window: "daily" }, 900],
  ["ann", { unit: "requests", window: "hourly", model: "k2" }, 50],
  ["ann", { unit: "requests", window: "hourly", model: "k3" }, null],
  ["bob", { unit: "requests", window: "hourly", model: "k2" }, null],
])("the cap of %s on %o is %s", (key, line, cap) => expect(capOn(pool, key, line)).toBe(cap));

test("of two caps on one dimension the tighter one holds", () => {
  const capped = (value: number) => ({ ...pool, allocations: [{ apiKeyId: "ann", weight: 1, policy: "hard" as const, caps: [{ unit: "usd" as const, window: "daily" as const, value }], capUnit: "usd" as const, capValue: 30 }] });
  expect(capOn(capped(20), "ann", { unit: "usd", window: "daily" })).toBe(20);
  expect(capOn(capped(40), "ann", { unit: "usd", window: "daily" })).toBe(30);
});

test("a cap on a window of its own is shown beside the dimensions", () => {
  const line = { unit: "usd", window: "daily", from: "2026-09-20T00:00:00.000Z", consumed: null, found: 23.481, events: 2, top: [], keys: [] } as const;
  const e = explained({ consumption: [{ ...line, top: [], keys: [] }] });
  expect(capsBeside(e)).toHaveLength(1);
  const step = stepOfCap({ ...e, reply: { ...e.reply, reason: "cap-absolute", binding: { unit: "usd", window: "daily" } } }, { ...line, top: [], keys: [] });
  expect(step).toMatchObject({ figures: "$23.481 used, cap $20.00", decided: true, tone: "bad" });
});

test("a cap that only requests in flight reach is reached", () => {
  const line = { unit: "usd", window: "daily", from: "2026-09-20T00:00:00.000Z", consumed: 12, found: 12, events: 2, top: [], keys: [] } as const;
  const e = explained({ consumption: [{ ...line, top: [], keys: [] }] });
  const step = stepOfCap({ ...e, reply: { ...e.reply, reason: "cap-absolute", binding: { unit: "usd", window: "daily" } } }, { ...line, top: [], keys: [] });
  expect(step).toMatchObject({ says: "No: with its requests in flight the cap is reached, whatever the policy.", tone: "bad" });
});

test("an event that leaves the window counts in part", () => {
  expect(counted(600, 150)).toBe("25");
  expect(counted(0, 51.4)).toBeNull();
});

test("what rounding loses is explained, what purging loses is not", () => {
  const line = { unit: "requests", window: "hourly", from: "", consumed: 100, found: 99.998, events: 2, top: [], keys: [] } as const;
  expect(unexplained({ ...line, top: [], keys: [] })).toBe("0");
  expect(unexplained({ ...line, found: 60, top: [], keys: [] })).toBe("40");
});

describe("the rule guarantee", () => {
  const kind: Pool = { ...pool, rule: "guarantee" };
  const by = (reply: Partial<Explanation["reply"]>, d: Partial<Judged> = {}) => {
    const e = explained({ rules: { pool: kind, plans: [], settings } }, { mode: "guarantee", promised: 0, kept: 400, headroom: 25, ...d });
    return steps({ ...e, reply: { ...e.reply, ...reply } });
  };
  test("knows no threshold: what is promised and kept stands in its place", () => {
    const all = by({ detail: "reserved" }, { keptFor: [{ apiKeyId: "bob", amount: 360 }, { apiKeyId: "*", amount: 40 }] });
    expect(Object.keys(all)).toEqual(["cap", "limit", "share", "promise", "kept", "rest"]);
    expect(all["promise"]).toMatchObject({ figures: "0 requests", says: "Nothing: in this window it has had its pace already.", decided: false });
    expect(all["kept"]).toMatchObject({ figures: "400 kept for keys that have used less, 25 requests left for them when all is used", tone: "bad", decided: true });
    expect(all["kept"]?.says).toBe("Yes: with the request there would be too little for them. It is for bob (360 requests) and everyone else (40 requests).");
  });
  test("says who goes first", () =>
    expect(by({ detail: "yield" }, { keptFor: [{ apiKeyId: "bob", amount: 25 }] })["kept"]?.says).toBe("They go first: there is next to no room. It is for bob (25 requests)."));
  test("of an allow it says what the request stays within", () => {
    const all = by({ decision: "allow", reason: "ok", detail: "guaranteed" }, { promised: 300 });
    expect(all["promise"]).toMatchObject({ figures: "300 requests", says: "The request stays within that.", tone: "good" });
    expect(all["kept"]).toMatchObject({ says: "No: beside that there is room.", tone: "good", decided: false });
    expect(by({ decision: "allow", reason: "ok", detail: "borrowed" }, { promised: 3 })["promise"]?.says).toContain("more only while nobody else needs it");
  });
});
