// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { day, hour } from "../words/time";
import { axisTexts, placeAfter } from "./chart";

test.each<[string, number | null, number]>([
  ["ArrowLeft", null, 9], ["ArrowLeft", 9, 8], ["ArrowLeft", 0, 0], ["ArrowRight", 8, 9], ["ArrowRight", 9, 9], ["ArrowRight", null, 9],
  ["Home", 5, 0], ["End", 5, 9], ["a", 5, -1],
])("%s at %s leads to %i", (key, place, to) => expect(placeAfter(key, place, 9)).toBe(to));

test("a day that has several marks is named once", () => {
  const noon = Date.parse("2026-11-29T12:00:00Z");
  const marks = [noon, noon + 12 * hour, noon + day, noon + 36 * hour];
  expect(axisTexts(marks, 7 * day, "UTC")).toEqual(["29 Nov", "30 Nov", "", "1 Dec"]);
  expect(axisTexts(marks, day, "UTC")).toEqual(["12:00", "00:00", "12:00", "00:00"]);
});
