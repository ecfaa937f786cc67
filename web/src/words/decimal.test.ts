import { describe, expect, test } from "vitest";
import { compare, cut, decimal, digits, grouped, minus, percentOf, sum, times } from "./decimal";

describe("digits", () => {
  test.each([
    ["0", "0"], ["-0", "0"], ["0.0", "0"], ["1.50", "1.5"], ["-0.5", "-0.5"], ["100", "100"], ["1e3", "1000"],
    ["1.25e1", "12.5"], ["1e-7", "0.0000001"], ["-1.5E+2", "-150"], ["9007199254740993.000000001", "9007199254740993.000000001"],
  ])("of %s are %s", (amount, want) => expect(digits(decimal(amount))).toBe(want));

  test.each(["", "x", "1.", ".5", "NaN", "Infinity", "1,000", "--1"])("refuse %s", (text) => {
    expect(() => decimal(text)).toThrow(TypeError);
  });
});

test.each([
  [1, 2, -1], [2, 1, 1], ["1.0", 1, 0], ["0.1", "0.10", 0], [-1, 1, -1], ["9007199254740993", "9007199254740992", 1], [0, "-0", 0],
])("compare %s with %s", (a, b, want) => expect(compare(a, b)).toBe(want));

test("sums and differences are exact", () => {
  expect(minus("0.3", "0.1")).toBe("0.2");
  expect(minus("0.1", "0.3")).toBe("-0.2");
  expect(minus("1000000000000.001", "0.000000001")).toBe("1000000000000.000999999");
  expect(sum([0.1, 0.2, "9007199254740993"])).toBe("9007199254740993.3");
  expect(sum([])).toBe("0");
});

test.each([
  ["99.99", 1, "99.9"], ["99.96", 0, "99"], ["-0.99", 1, "-0.9"], ["-0.04", 1, "0"], ["5", 2, "5"], ["1.10", 1, "1.1"], ["1.01", 1, "1"],
])("%s cut to %i decimals is %s", (amount, places, want) => expect(cut(amount, places)).toBe(want));

test.each([
  [1, 3, 1, "33.3"], [2, 3, 1, "66.6"], ["9996", 10000, 1, "99.9"], [132, 100, 1, "132"], [0, 5, 1, "0"],
  ["0.000000001", 1000000, 5, "0"], [1, 0, 1, null], [-1, 3, 1, "-33.3"],
])("%s of %s", (part, whole, places, want) => expect(percentOf(part, whole, places)).toBe(want));

test.each([
  ["0", "0"], ["999", "999"], ["1000", "1,000"], ["1234567.1234567", "1,234,567.1234567"], ["100000", "100,000"],
])("%s is grouped as %s", (text, want) => expect(grouped(text)).toBe(want));

test.each([[3000, 0.5, "1500"], ["0.1", "0.2", "0.02"], ["-1.5", 4, "-6"], ["9007199254740993", "10.01", "90162064539957339.93"], [7, 0, "0"]])("%s times %s is %s", (a, b, want) =>
  expect(times(a, b)).toBe(want));
