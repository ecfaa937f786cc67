// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { placeAfter } from "./chart";

test.each<[string, number | null, number]>([
  ["ArrowLeft", null, 9], ["ArrowLeft", 9, 8], ["ArrowLeft", 0, 0], ["ArrowRight", 8, 9], ["ArrowRight", 9, 9], ["ArrowRight", null, 9],
  ["Home", 5, 0], ["End", 5, 9], ["a", 5, -1],
])("%s at %s leads to %i", (key, place, to) => expect(placeAfter(key, place, 9)).toBe(to));
