import { describe, expect, test } from "vitest";
import type { RecordedDecision, Reply } from "../api/answers";
import { cells, instantOf, lengthFor, localInput, neighbours, questionOf, stretchOf } from "./timeline";

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
  test.each<Record<string, string>>([{}, { key: "ann" }, { connection: "kimi-1" }])("%o lacks something", (query) => expect(questionOf(query, now)).toBeNull());
});

test.each([["", null], ["soon", null], ["99999999999999999999", null], ["1790000000000", 1790000000000], ["2026-09-21T14:00:00Z", now]])("%s names %s", (text, at) =>
  expect(instantOf(text)).toBe(at));

test("a field has the instant to the second, and reads it back", () => expect(instantOf(localInput(now + 9_999))).toBe(now + 9_000));
