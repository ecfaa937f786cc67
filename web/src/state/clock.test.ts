import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Clock } from "./clock";

const noon = Date.parse("2026-09-21T12:00:00.000Z");
const hour = 3_600_000;

beforeEach(() => void vi.useFakeTimers({ now: noon }));
afterEach(() => void vi.useRealTimers());

describe("an answer to a call of a minute ago", () => {
  const after = (before: number, told: number): number => {
    const clock = new Clock();
    clock.saw(noon + before);
    clock.saw(noon + told, noon - 60_000);
    return clock.now() - noon;
  };

  test.each([
    ["leaves what may be right", 5 * hour, 5 * hour - 59_000, 5 * hour],
    ["leaves what is right within the second that it names", 5 * hour, 5 * hour - 61_000, 5 * hour],
    ["tells of an engine whose clock was set back", 5 * hour, 5 * hour - 61_001, 5 * hour - 61_001],
    ["tells of an engine whose clock was set forward", 5 * hour, 6 * hour, 6 * hour],
  ])("%s", (_, before, told, want) => expect(after(before, told)).toBe(want));
});

describe("a clock that was set", () => {
  test("is noticed once, and what was known is forgotten", () => {
    const clock = new Clock();
    clock.saw(noon - 5 * hour);
    vi.setSystemTime(noon - 5 * hour);
    expect([clock.parted(), clock.parted()]).toEqual([true, false]);
    expect(clock.now()).toBe(noon - 5 * hour);
    clock.saw(noon - 6 * hour);
    expect(clock.now()).toBe(noon - 6 * hour);
  });

  test("is none that only went on", () => {
    const clock = new Clock();
    clock.saw(noon + hour);
    vi.advanceTimersByTime(hour);
    expect(clock.parted()).toBe(false);
    expect(clock.now()).toBe(noon + 2 * hour);
  });
});
