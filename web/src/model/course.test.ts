import { describe, expect, test } from "vitest";
import type { UsedDimension } from "../api/types";
import { accountCourse, rollingCourse } from "./course";
import type { Lasting } from "./lasting";

const noon = Date.parse("2026-09-21T12:00:00.000Z");
const at = (minutes: number): string => new Date(noon + minutes * 60_000).toISOString();
const min = (minutes: number): number => noon + minutes * 60_000;

describe("a limit of our own", () => {
  const d = { unit: "requests", window: "hourly", limit: 100, consumedTotal: "40.5", burnRate: { perSecond: "0.25" } } as UsedDimension;

  test("goes to its end", () =>
    expect(rollingCourse(d, { kind: "ends", at: min(4) }, noon)).toEqual({
      times: [noon, min(4)], end: min(4), then: 100,
      tracks: [{ id: "limit", values: [100, 100] }, { id: "ahead", values: [40.5, 100] }],
    }));

  test("goes to its reset by its rate", () => expect(rollingCourse(d, { kind: "reset", at: min(2) }, noon)).toMatchObject({ end: min(2), then: "70.5" }));

  test("goes to what a whole window comes to, downwards too", () =>
    expect(rollingCourse(d, { kind: "lasts", most: "9" }, noon)).toMatchObject({ end: min(60), then: "9", tracks: [{}, { values: [40.5, 9] }] }));

  test.each(["no-data", "no-limit", "used-up"] as const)("goes nowhere: %s", (kind) => expect(rollingCourse(d, { kind }, noon)).toBeNull());
});

describe("a window of an account", () => {
  // Five hours, of which half were over when it was told of.
  const row: Lasting = {
    id: "", poolId: "p", connectionId: "a", window: "5h", scope: undefined, used: "40", elapsed: "50",
    resetAt: at(150), observedAt: at(0), outcome: { kind: "lasts" },
  };
  const track = (of: Lasting, id: string) => accountCourse(of)?.tracks.find((t) => t.id === id)?.values;

  test("goes on to its reset at its average pace, beside one that is even", () => {
    expect(accountCourse(row)).toMatchObject({ times: [min(-150), noon, min(150)], then: "80", end: min(150) });
    expect([track(row, "used"), track(row, "ahead"), track(row, "even")]).toEqual([[0, 40, null], [null, 40, 80], [0, 50, 100]]);
  });

  test("stays at its end once it is used up", () => {
    const short: Lasting = { ...row, used: "75", outcome: { kind: "short", at: min(50) } };
    expect(accountCourse(short)).toMatchObject({ times: [min(-150), noon, min(50), min(150)], then: "100", end: min(50) });
    expect(track(short, "ahead")).toEqual([null, 75, 100, 100]);
  });

  test("that was used in no moment stays where it is", () => expect(track({ ...row, used: "0", observedAt: at(-150) }, "ahead")).toEqual([null, 0, 0]));

  test.each(["gone", "early"] as const)("says nothing: %s", (kind) => expect(accountCourse({ ...row, outcome: { kind } })).toBeNull());
});
