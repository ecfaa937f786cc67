import { expect, test } from "vitest";
import { nbsp } from "./amount";
import { about, axisInstant, clock, duration, exactMoment, fullInstant, instant, moment, relative, until, zoneName } from "./time";

const plain = (text: string): string => text.replaceAll(nbsp, " ");

test.each([
  [0, "0 ms"], [0.9, "0 ms"], [999, "999 ms"], [1000, "1 s"], [59_999, "59 s"], [60_000, "1 min"], [61_500, "1 min 1 s"],
  [3_599_999, "59 min 59 s"], [3_600_000, "1 h"], [3_659_000, "1 h"], [7_800_000, "2 h 10 min"], [86_400_000, "1 d"],
  [93_600_000, "1 d 2 h"], [2_592_000_000, "30 d"], [-90_000, "−1 min 30 s"],
])("%i ms last %s", (ms, want) => expect(plain(duration(ms))).toBe(want));

test("about is the largest unit alone", () => expect(plain(about(7_800_000))).toBe("2 h"));

const now = Date.parse("2026-09-21T14:00:00Z"); // a Monday

test.each([
  [0, "now"], [999, "now"], [-999, "now"], [1000, "in 1 s"], [250_000, "in 4 min 10 s"], [-1000, "1 s ago"], [-250_000, "4 min ago"],
])("%i ms from now is %s", (ms, want) => expect(plain(relative(now + ms, now))).toBe(want));

test.each([
  ["2026-09-21T14:05:00Z", "UTC", "14:05"],
  ["2026-09-21T00:00:00Z", "UTC", "00:00"],
  ["2026-09-21T23:59:59Z", "UTC", "23:59"],
  ["2026-09-22T00:00:00Z", "UTC", "tomorrow 00:00"],
  ["2026-09-20T23:59:59Z", "UTC", "yesterday 23:59"],
  ["2026-09-24T09:30:00Z", "UTC", "Thu 09:30"],
  ["2026-09-27T09:30:00Z", "UTC", "Sun 09:30"],
  ["2026-09-28T09:30:00Z", "UTC", "28 Sept 09:30"],
  ["2026-09-19T09:30:00Z", "UTC", "19 Sept 09:30"],
  ["2025-10-05T14:05:00Z", "UTC", "5 Oct 2025 14:05"],
  ["2026-09-21T22:30:00Z", "Europe/Berlin", "tomorrow 00:30"],
  ["2026-09-21T03:00:00Z", "America/New_York", "yesterday 23:00"],
])("%s in %s is %s", (at, zone, want) => expect(moment(instant(at), now, zone)).toBe(want));

test("until says how long and when", () => {
  expect(plain(until(now + 8_100_000, now, "UTC"))).toBe("in 2 h 15 min (16:15)");
});

test("an exact moment tells the day and the seconds", () => {
  expect(exactMoment(instant("2026-09-21T14:05:09Z"), now, "UTC")).toBe("14:05:09");
  expect(exactMoment(instant("2026-09-20T23:59:58Z"), now, "UTC")).toBe("yesterday 23:59:58");
});

test("a clock has seconds, and midnight is 00", () => {
  expect(clock(instant("2026-09-21T00:05:09.999Z"), "UTC")).toBe("00:05:09");
});

test("in full an instant is in UTC, to the millisecond", () => {
  expect(fullInstant(instant("2026-09-21T14:00:00.007Z"))).toBe("21 September 2026, 14:00:00.007 UTC");
});

test("an axis names hours, or days when it is long", () => {
  const at = Date.parse("2026-09-21T14:05:00Z");
  expect([axisInstant(at, 172_800_000, "UTC"), axisInstant(at, 172_800_001, "UTC")]).toEqual(["14:05", "21 Sept"]);
});

test("a zone has the name of that time of the year", () =>
  expect([zoneName(Date.parse("2026-01-21T14:00:00Z"), "Europe/Berlin"), zoneName(Date.parse("2026-07-21T14:00:00Z"), "Europe/Berlin"), zoneName(0, "UTC")]).toEqual(["CET", "CEST", "UTC"]));
