import { expect, test } from "vitest";
import type { Policy, Pool, Signal, Usage, UsedDimension } from "../api/types";
import { fullness, health, spentAccounts, tightest } from "./health";

const dim = (change: Partial<UsedDimension>): UsedDimension =>
  ({ unit: "requests", window: "hourly", limit: 100, consumedTotal: 10, heldTotal: 0, usedPercent: 10, mode: "generous", ...change }) as UsedDimension;
const usage = (dimensions: UsedDimension[], enforcing = true): Usage => ({ dimensions, enforcing }) as Usage;
const pool = (mode: Pool["mode"], ...policies: Policy[]): Pool => ({ mode, allocations: policies.map((policy) => ({ policy })) }) as Pool;

const full = dim({ consumedTotal: 100, usedPercent: 100, mode: "strict" });
const strict = dim({ consumedTotal: 60, usedPercent: 60, mode: "strict" });
const taken = dim({ consumedTotal: "90.5", heldTotal: "9.5", mode: "strict" });
const unknown = dim({ limit: null, usedPercent: null });

test.each<[string, Pool["mode"], Usage | null, string, string]>([
  ["nothing is told", "enforce", null, "quiet", "No numbers yet"],
  ["it is off", "off", usage([full]), "quiet", "Off"],
  ["nothing is known", "enforce", usage([unknown], false), "warn", "Enforces nothing"],
  ["there is room", "enforce", usage([dim({}), unknown]), "good", "Room for all"],
  ["one dimension is strict", "enforce", usage([dim({}), strict]), "warn", "Shares count"],
  ["what is under way fills one", "enforce", usage([taken]), "bad", "Used up"],
  ["one is full", "enforce", usage([strict, full]), "bad", "Used up"],
  ["one is full and it observes", "observe", usage([full]), "bad", "Used up"],
])("when %s", (_, mode, of, tone, text) => expect(health(pool(mode), of)).toMatchObject({ tone, text }));

test("a pool that guarantees speaks of what it promises, not of shares", () =>
  expect(health({ ...pool("enforce"), rule: "guarantee" }, usage([dim({ mode: "guarantee" })]))).toMatchObject({ tone: "good", text: "Room is kept" }));

test("the tightest is nearest to its limit, and unknown is not near", () => {
  const [first, second] = [dim({}), dim({})];
  expect(tightest(usage([first, second]))).toBe(first);
  expect(tightest(usage([unknown, first, strict, second]))).toBe(strict);
  expect(tightest(usage([unknown]))).toBe(unknown);
  expect(tightest(usage([]))).toBeNull();
  expect([fullness(dim({ usedPercent: 132 })), fullness(unknown)]).toEqual([1.32, -1]);
});

test("a pool that observes says that nobody feels it", () => {
  expect(health(pool("observe"), usage([full])).means).toMatch(/nobody is blocked\.$/);
  expect(health(pool("enforce"), usage([full])).means).not.toContain("observes");
});

test.each<[Policy[], string]>([
  [["hard", "hard"], "each key is held to its share."],
  [["hard", "burst"], "each key whose policy is hard is held to its share."],
  [["soft", "burst"], "soft keys above their share come after the others, and none is held to it."],
  [["burst"], "shares count, and no key's policy holds it to its own."],
])("what shares mean to keys that are %s", (policies, means) => expect(health(pool("enforce", ...policies), usage([strict])).means).toBe(`The pool is busy, so ${means}`));

test("what is used up is named", () =>
  expect(health(pool("enforce"), usage([full, strict, dim({ unit: "usd", window: "daily", consumedTotal: 101 })])).means).toBe(
    "Nothing is left of requests per hour and US dollars per day, for everybody in the pool.",
  ));

test("an account has nothing left by a reading that stands, of all models", () => {
  const said = (connectionId: string, change: Partial<Signal> = {}): Signal => ({ connectionId, window: "5h", signal: "fresh", usedPercent: "100", ...change }) as Signal;
  const signals = [said("a"), said("b", { usedPercent: "99.9" }), said("c", { signal: "none" }), said("d", { scope: "opus" }), said("e", { window: "rate" }), said("f", { usedPercent: null })];
  expect(spentAccounts({ signals } as Usage).map((s) => s.connectionId)).toEqual(["a"]);
});
