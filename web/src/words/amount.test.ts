import { describe, expect, test } from "vitest";
import type { Amount } from "../api/json";
import type { Unit } from "../api/types";
import { amount, count, exactAmount, exactly, figure, nbsp, short } from "./amount";

/** The text with ordinary spaces, so that it can be read here. */
const plain = (text: string): string => text.replaceAll(nbsp, " ");

type Row = [Amount | null, Unit, string];

const figures: Row[] = [
  [0, "requests", "0"],
  [1240, "requests", "1,240"],
  [12.5, "requests", "12.5"],
  [12.59, "requests", "12.5"],
  ["0.001", "requests", "under 0.1"],
  [999.999, "tokens", "999"],
  ["0.4", "tokens", "under 1"],
  ["9007199254740993.5", "tokens", "9,007,199,254,740,993"],
  [0, "usd", "$0"],
  [3.2, "usd", "$3.20"],
  [3, "usd", "$3.00"],
  [0.5, "usd", "$0.50"],
  [1234.569, "usd", "$1,234.56"],
  ["0.000000001", "usd", "under $0.01"],
  [99.96, "percent", "99.9"],
  [132, "percent", "132"],
  [-12.5, "requests", "−12.5"],
  [-3.2, "usd", "−$3.20"],
  ["-0.001", "requests", "over −0.1"],
  [null, "tokens", "not known"],
];

test.each(figures)("figure of %s %s is %s", (a, unit, want) => expect(plain(figure(a, unit))).toBe(want));

const amounts: Row[] = [
  [1, "requests", "1 request"],
  ["1.0", "tokens", "1 token"],
  [0, "requests", "0 requests"],
  [1.5, "requests", "1.5 requests"],
  [1240000, "tokens", "1,240,000 tokens"],
  [1, "percent", "1 point"],
  ["1.04", "percent", "1 point"],
  ["0.4", "tokens", "under 1 token"],
  [12.5, "percent", "12.5 points"],
  [1, "usd", "$1.00"],
  [null, "usd", "not known"],
];

test.each(amounts)("amount of %s %s is %s", (a, unit, want) => expect(plain(amount(a, unit))).toBe(want));

const exact: Row[] = [
  [12.599, "requests", "12.599 requests"],
  ["0.000000001", "usd", "$0.000000001"],
  [3.2, "usd", "$3.20"],
  ["1000000000000.123", "tokens", "1,000,000,000,000.123 tokens"],
  [null, "requests", "not known"],
];

test.each(exact)("exact amount of %s %s is %s", (a, unit, want) => expect(plain(exactAmount(a, unit))).toBe(want));

const shorts: Row[] = [
  [999999, "tokens", "999,999"],
  [1000000, "tokens", "1 M"],
  [1249999, "tokens", "1.24 M"],
  [48290000, "tokens", "48.2 M"],
  [999999999, "tokens", "999 M"],
  [1500000000, "tokens", "1.5 B"],
  ["2500000000000", "tokens", "2.5 T"],
  ["2500000000000000", "tokens", "2500 T"],
  [1250000, "usd", "$1.25 M"],
  [-1249999, "tokens", "−1.24 M"],
  [null, "tokens", "not known"],
];

test.each(shorts)("%s %s in short is %s", (a, unit, want) => expect(plain(short(a, unit)).replace("2,500", "2500")).toBe(want));

describe("what is shown are digits of the API", () => {
  test.each(["12.345678901", "0.987654321", "999999.999999999"])("%s", (text) => {
    for (const unit of ["requests", "tokens", "usd", "percent"] as const) {
      const shown = figure(text, unit).replace(/[$,]/g, "");
      if (!shown.startsWith("under")) expect(text.startsWith(shown)).toBe(true);
      expect(exactly(text, unit).replace(/[$,]/g, "")).toBe(text);
    }
  });
});

test("counts agree with their nouns", () => {
  expect([0, 1, 2, 12000].map((n) => plain(count(n, "key")))).toEqual(["0 keys", "1 key", "2 keys", "12,000 keys"]);
  expect(plain(count(2, "entry", "entries"))).toBe("2 entries");
});
