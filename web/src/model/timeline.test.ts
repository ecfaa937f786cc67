import { describe, expect, test } from "vitest";
import type { RecordedDecision, Reply } from "../api/answers";
import { cells, instantOf, lengthFor, lengthsOf, localInput, namedBy, neighbours, outside, questionOf, stretchOf } from "./timeline";

const now = Date.parse("2026-09-21T14:00:00Z");
const hour = 3_600_000;

const row = (id: string, ago: number, reply: Partial<Reply>, count = 1) =>
  ({ decisionId: id, time: new Date(now - ago).toISOString(), count, reply }) as RecordedDecision;

test("a stretch ends now when it can, and is around an instant that is older", () => {
  expect(stretchOf(now - 10, now, hour)).toEqual({ from: now - hour, to: now, step: 1000 });
  expect(stretchOf(now - 9 * hour, now, 2 * hour)).toEqual({ from: now - 10 * hour, to: now - 8 * hour, step: 2000 });
  expect(stretchOf(now + 5, now, hour).to).toBe(now + 5);
});

test.each([[0, "6h"], [5, "6h"], [6, "day"], [24, "week"], [400, "fortnight"]])("%i hours ago is seen on a stretch of %s", (hours, name) =>
  expect(lengthFor(now - hours * hour, now)).toBe(name));

describe("a history that begins somewhere", () => {
  const since = now - 7 * hour;
  test("has lengths that are shorter than it, and itself", () => {
    expect(lengthsOf(since, now)).toEqual({ hour, "6h": 6 * hour, all: 7 * hour });
    expect(Object.keys(lengthsOf(now - hour, now))).toEqual(["all"]);
    expect(Object.keys(lengthsOf(null, now))).toEqual(["hour", "6h", "day", "week", "fortnight"]);
    expect(lengthsOf(now + 5, now)).toEqual({ all: 1000 });
  });
  test("has no stretch from before it", () => {
    expect(stretchOf(now, now, 24 * hour, since)).toEqual({ from: since, to: now, step: 7000 });
    expect(stretchOf(now - 6.5 * hour, now, hour, since)).toEqual({ from: since, to: now - 6 * hour, step: 1000 });
    expect(stretchOf(since, now, hour, since).from).toBe(since);
  });
  test.each([[0, "6h"], [6.5, "all"], [9, "all"]])("%i hours ago is seen on a stretch of %s", (hours, name) => expect(lengthFor(now - hours * hour, now, since)).toBe(name));
  test("an hour of it is seen whole", () => expect(lengthFor(now, now, now - hour / 2)).toBe("all"));
  test("has nothing before it, and nothing to come", () => {
    expect([since - 1, since, now, now + 1].map((at) => outside(at, now, since))).toEqual(["early", "", "", "late"]);
    expect(outside(0, now, null)).toBe("");
  });
});

test("what was answered is counted along the stretch", () => {
  const rows = [row("a", 0, { decision: "block" }), row("b", 1, { decision: "block" }, 3), row("c", hour / 2, { decision: "allow", wouldBlock: true }), row("d", hour, { decision: "allow" }), row("e", hour + 1, {})];
  expect(cells(rows, { from: now - hour, to: now, step: 1 }, 4)).toEqual([
    { place: 0, blocked: 0, wouldBlock: 0, allowed: 1 },
    { place: 0.5, blocked: 0, wouldBlock: 1, allowed: 0 },
    { place: 0.75, blocked: 3, wouldBlock: 0, allowed: 0 },
  ]);
});

test("neighbours are the nearest on each side, and not the instant itself", () => {
  const rows = [row("a", 1000, {}), row("b", 2000, {}), row("c", 3000, {}), row("d", 4000, {})];
  const at = now - 2000;
  expect([neighbours(rows, at).before?.decisionId, neighbours(rows, at).behind?.decisionId]).toEqual(["c", "a"]);
  expect(neighbours([], at)).toEqual({ before: null, behind: null });
});

describe("the question of an address", () => {
  test("a decision goes before all else", () => expect(questionOf({ decision: "d-1", key: "ann" }, now)).toEqual({ decisionId: "d-1" }));
  test("without an instant it is about now", () =>
    expect(questionOf({ key: "ann", connection: "kimi-1" }, now)).toEqual({ apiKeyId: "ann", connectionId: "kimi-1", at: "2026-09-21T14:00:00.000Z" }));
  test("all that is named is asked", () =>
    expect(questionOf({ key: "ann", pool: "team", model: "k2", at: String(now - 1) }, now)).toEqual({ apiKeyId: "ann", pool: "team", model: "k2", at: "2026-09-21T13:59:59.999Z" }));
  test("a size is asked about as it was typed", () =>
    expect(questionOf({ key: "ann", pool: "team", tokens: " 9007199254740993 ", usd: "", requests: "x" }, now)).toMatchObject({ estimate: { tokens: "9007199254740993", requests: "x" } }));
  test("a form shows all of a question", () => {
    expect(namedBy({ apiKeyId: "ann", connectionId: "kimi-1", pool: "team", estimate: { tokens: 800 } })).toEqual({ key: "ann", connection: "kimi-1", tokens: "800" });
    expect(namedBy({ apiKeyId: "ann", pool: "team", model: "k2" })).toEqual({ key: "ann", pool: "team", model: "k2" });
  });
  test.each<Record<string, string>>([{}, { key: "ann" }, { connection: "kimi-1" }])("%o lacks something", (query) => expect(questionOf(query, now)).toBeNull());
});

test.each([["", null], ["soon", null], ["99999999999999999999", null], ["1790000000000", 1790000000000], ["2026-09-21T14:00:00Z", now]])("%s names %s", (text, at) =>
  expect(instantOf(text)).toBe(at));

test("a year that is being typed has four digits", () => expect(localInput(instantOf("0002-03-01T10:00:00") ?? 0)).toBe("0002-03-01T10:00:00"));

test("a field has the instant to the second, and reads it back", () => expect(instantOf(localInput(now + 9_999))).toBe(now + 9_000));
