import { describe, expect, test } from "vitest";
import type { Amount } from "../api/json";
import type { Amounts, History, HistoryRow } from "../api/types";
import { averages, burnSpan, partsOf, placeAt, stacked } from "./series";

const amounts = (requests: Amount): Amounts => ({ requests, tokens: 7, usd: 0, percent: 0 });
const row = (minute: number, keys: Record<string, Amount>, unlisted: Amount = 0, adjusted?: Amount): HistoryRow => ({
  time: `2026-09-21T14:0${minute}:00.000Z`, total: amounts(99), unlisted: amounts(unlisted),
  perKey: Object.entries(keys).map(([apiKeyId, n]) => ({ apiKeyId, ...amounts(n) })),
  ...(adjusted === undefined ? {} : { adjusted: { requests: adjusted } }),
});
const history = (...rows: HistoryRow[]): History => ({ poolId: "p", from: "", to: "", stepMs: 60_000, rows });

describe("the parts of a history", () => {
  const parts = partsOf(history(row(0, { bob: 1, gone: 2 }), row(1, {}, "0.5", -3), row(2, { ann: "9007199254740993", bob: 4, idle: 0 }, 0, "1.5")), "requests", ["ann", "bob", "cat"]);

  test("are in the order of the allocations, then who has none any more, then all others", () =>
    expect(parts.parts).toEqual([
      { id: "ann", values: [0, 0, "9007199254740993"] },
      { id: "bob", values: [1, 0, 4] },
      { id: "gone", values: [2, 0, 0] },
      { id: "*", values: [0, "0.5", 0] },
    ]));

  test("stand beside the total and what was corrected", () => {
    expect(parts.total).toEqual([99, 99, 99]);
    expect(parts.adjusted).toBe("-1.5");
    expect(parts.times[1]).toBe(Date.parse("2026-09-21T14:01:00Z"));
  });

  test("lie one on the other", () =>
    expect(stacked([{ id: "a", values: [1, 2] }, { id: "b", values: ["0.5", 0] }])).toEqual([[1, 2], [1.5, 2]]));
});

test.each<[string, Amount[], (number | null)[]]>([
  ["nothing", [], []],
  ["silence", [0, 0], [null, null]],
  ["one minute", [0, 10], [null, null]],
  ["two minutes", [10, 20], [null, 13]],
  ["a silence behind", [0, 10, 0], [null, null, 7]],
])("the average of %s", (_, minutes, want) => expect(averages(minutes)).toEqual(want));

test("a burn rate looks at sixty complete minutes", () => {
  const now = Date.parse("2026-09-21T14:00:59Z");
  expect(burnSpan(now)).toEqual({ from: Date.parse("2026-09-21T13:00:00Z"), to: Date.parse("2026-09-21T14:00:00Z") });
});

test.each([[0, 0], [10, 0], [19, 0], [20, 1], [29, 1], [30, 2], [99, 2]])("at %i is place %i", (at, place) => expect(placeAt([10, 20, 30], at)).toBe(place));
