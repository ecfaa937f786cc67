import { describe, expect, test } from "vitest";
import type { Explanation, Judged } from "../api/answers";
import type { Pool, Settings } from "../api/types";
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
  expect(Object.keys(all)).toEqual(["cap", "limit", "busy", "share", "key"]);
  expect(all["cap"]).toMatchObject({ figures: "704 used, cap 900 requests", tone: "good" });
  expect(all["limit"]).toMatchObject({ figures: "1,971 used, of 3,000 requests", says: "Yes: 1,029 requests would be left.", tone: "good", decided: false });
  expect(all["busy"]).toMatchObject({ figures: "65.7 % of the limit is used; shares count from 50 % of the limit on", says: "Yes: the pool is busy." });
  expect(all["share"]).toMatchObject({ figures: "3,000 × 20 ÷ 100 = 600 requests", says: "Its weight is 20 of 100." });
  expect(all["key"]).toMatchObject({ figures: "704 used, share 600 requests", tone: "bad", decided: true });
  expect(all["key"]?.says).toBe("No: 104 requests over. Its policy is hard: stops at its fair share while shares count.");
});

describe("room for everybody", () => {
  const limit = (d: Partial<Judged>, estimate = {}) => steps(explained({ question: { apiKeyId: "ann", estimate } }, d))["limit"];
  test("all that counts is added", () =>
    expect(limit({ consumedTotal: 1971.5, heldTotal: 20 }, { requests: 5 })).toMatchObject({
      figures: "1,971.5 used + 20 in flight + 5 asked for = 1,996.5, of 3,000 requests", says: "Yes: 1,003.5 requests would be left.",
    }));
  test("exactly full is full", () => expect(limit({ consumedTotal: 3000 })).toMatchObject({ says: "No: the limit is used up.", tone: "bad" }));
  test("what just fits has room", () => expect(limit({ consumedTotal: 2995 }, { requests: 5 })).toMatchObject({ tone: "good" }));
  test("what passes the limit does not fit", () =>
    expect(limit({ consumedTotal: 2995 }, { requests: 5.001 })).toMatchObject({ says: "No: the request does not fit into what is left.", tone: "bad" }));
  test("a request larger than the limit counts as the limit", () => expect(limit({ consumedTotal: 0 }, { requests: 4000 })).toMatchObject({ tone: "good" }));
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

test("an event that leaves the window counts in part", () => {
  expect(counted(600, 150)).toBe("25");
  expect(counted(0, 51.4)).toBeNull();
});

test("what rounding loses is explained, what purging loses is not", () => {
  const line = { unit: "requests", window: "hourly", from: "", consumed: 100, found: 99.998, events: 2, top: [], keys: [] } as const;
  expect(unexplained({ ...line, top: [], keys: [] })).toBe("0");
  expect(unexplained({ ...line, found: 60, top: [], keys: [] })).toBe("40");
});
