import { describe, expect, test } from "vitest";
import type { Amount } from "../api/json";
import type { ConnectionUse, Pool, Signal, Usage, UsedDimension } from "../api/types";
import { lastingOf, limits, projection } from "./lasting";

const noon = Date.parse("2026-09-21T12:00:00.000Z");
const at = (minutes: number): string => new Date(noon + minutes * 60_000).toISOString();

/** A five-hour window, of which half is over at noon. */
const signal = (change: Partial<Signal>): Signal => ({
  connectionId: "a", window: "5h", usedPercent: 50, resetAt: at(150), observedAt: at(0),
  attributed: null, unattributed: null, drift: null, signal: "fresh", ...change,
});

describe("a window of an account", () => {
  test.each<[string, Partial<Signal>, object]>([
    ["lasts just so", {}, { kind: "lasts" }],
    ["is too near to say", { usedPercent: 50.5 }, { kind: "just" }],
    ["is short by more than was rounded", { usedPercent: 50.6 }, { kind: "short", at: noon - 150 * 60_000 + Math.floor(150 * 60_000 / 0.506) }],
    ["is used by less than is rounded", { usedPercent: 0.4, observedAt: at(-144) }, { kind: "lasts" }],
    ["is short", { usedPercent: 60 }, { kind: "short", at: noon + 100 * 60_000 }],
    ["is gone", { usedPercent: 100 }, { kind: "gone" }],
    ["is more than gone", { usedPercent: "132.5" }, { kind: "gone" }],
    ["was not used", { usedPercent: 0, observedAt: at(-150) }, { kind: "lasts" }],
    ["has hardly begun when it is told of", { usedPercent: 3, observedAt: at(-145) }, { kind: "early" }],
    ["has begun long ago, and was told of at its beginning", { usedPercent: 3, observedAt: at(-144) }, { kind: "short", at: noon + 50 * 60_000 }],
  ])("that %s", (_, change, want) => expect(lastingOf("p", signal(change), noon)?.outcome).toEqual(want));

  test.each<[Partial<Signal>]>([[{ window: "rate" }], [{ signal: "none" }], [{ usedPercent: null }], [{ resetAt: null }]])("%o says nothing", (change) =>
    expect(lastingOf("p", signal(change), noon)).toBeNull(),
  );

  test.each([[0, "50"], [1, "50.3"], [150, "100"], [200, "100"], [-150, "0"], [-151, "0"]])("at minute %i %s % of it is over", (minute, elapsed) =>
    expect(lastingOf("p", signal({}), noon + minute * 60_000)?.elapsed).toBe(elapsed),
  );
});

const dim = (change: Partial<UsedDimension>): UsedDimension =>
  ({ unit: "requests", window: "hourly", limit: 100, consumedTotal: 10, heldTotal: 0, usedPercent: 10, perConnection: [], burnRate: { perSecond: 1, timeToExhaustionMs: 90_000 }, ...change }) as UsedDimension;

describe("limits are told", () => {
  const told = (signals: Signal[], dimensions: UsedDimension[]): string[] => {
    const usage = { signals, dimensions, asOf: { time: at(0) } } as Usage;
    const all = limits([{ pool: { id: "p", name: "P" } as Pool, usage }, { pool: { id: "q" } as Pool, usage: null }], noon);
    return all.map((row) => (row.kind === "account" ? row.of.connectionId : String(row.of.dimension.usedPercent)));
  };
  const used = (connectionId: string, usedPercent: Amount): Signal => signal({ connectionId, usedPercent });
  const ours = (usedPercent: number, change: Partial<UsedDimension> = {}): UsedDimension =>
    dim({ consumedTotal: usedPercent, usedPercent, burnRate: { perSecond: 0, timeToExhaustionMs: null }, ...change });
  const runsOutIn = (minutes: number): Partial<UsedDimension> => ({ burnRate: { perSecond: 1, timeToExhaustionMs: minutes * 60_000 } });

  test("with those that are used up first, then those that will be soonest, then by use", () => {
    const signals = [used("idle", 2), used("near", 49), used("soon", 90), used("gone", 100), used("later", 60), signal({ connectionId: "new", usedPercent: 1, observedAt: at(-149) })];
    expect(told(signals, [ours(48), ours(132), ours(70, runsOutIn(1)), ours(71, runsOutIn(90))])).toEqual(["132", "gone", "70", "soon", "71", "later", "near", "48", "idle", "new"]);
  });

  const points = dim({ unit: "percent", window: "5h", consumedTotal: "105.75", usedPercent: "105.75" });

  test("but for those that are not known, and points, of which accounts tell", () => expect(told([used("a", 9)], [ours(9), points, dim({ limit: null })])).toEqual(["a", "9"]));

  test("with points that no provider tells of in their window", () => {
    expect(told([], [points])).toEqual(["105.75"]);
    expect(told([signal({ window: "weekly", usedPercent: 9 }), signal({ signal: "none" })], [points])).toEqual(["105.75", "a"]);
  });
});

test.each<[string, Partial<UsedDimension>, object]>([
  ["ends", {}, { kind: "ends", at: noon + 90_000 }],
  ["is given anew before", { perConnection: [{ resetAt: at(60) }, { resetAt: at(1.5) }] as ConnectionUse[] }, { kind: "reset", at: noon + 90_000 }],
  ["ends before it is given anew", { perConnection: [{ resetAt: at(60) }, { resetAt: null }] as ConnectionUse[] }, { kind: "ends", at: noon + 90_000 }],
  ["ends a moment before it is given anew", { perConnection: [{ resetAt: at(1.6) }] as ConnectionUse[] }, { kind: "ends", at: noon + 90_000 }],
  ["is used up, whatever its rate", { consumedTotal: 100, burnRate: { perSecond: 0, timeToExhaustionMs: null } }, { kind: "used-up" }],
  ["has no rate", { burnRate: { perSecond: 0, timeToExhaustionMs: null } }, { kind: "no-data" }],
  ["comes to less than its limit in a whole window", { burnRate: { perSecond: "0.027777", timeToExhaustionMs: 3_600_001 } }, { kind: "lasts", most: "99.9972" }],
  ["may end when its window counts less of it", { burnRate: { perSecond: "0.027777", timeToExhaustionMs: 3_600_000 } }, { kind: "may-end", at: noon + 3_600_000 }],
  ["was all but used up in one burst", { limit: 1500, consumedTotal: 1380, burnRate: { perSecond: "0.166666", timeToExhaustionMs: 396_137 } }, { kind: "may-end", at: noon + 396_137 }],
  ["comes to its boundary before", { window: "daily", limit: 12_000_000, consumedTotal: 11_904_000, burnRate: { perSecond: 100, timeToExhaustionMs: 12 * 3_600_000 + 1 } }, { kind: "lasts", most: "8640000" }],
  ["comes to just its limit", { limit: 3600, burnRate: { perSecond: 1, timeToExhaustionMs: 90_000 } }, { kind: "ends", at: noon + 90_000 }],
  ["has no limit", { limit: null, burnRate: { perSecond: 1, timeToExhaustionMs: null } }, { kind: "no-limit" }],
])("a dimension that %s", (_, change, want) => expect(projection(dim(change), noon)).toEqual(want));
