import { describe, expect, test } from "vitest";
import { parseJson } from "./json";

describe("parseJson", () => {
  test.each([
    ["0", 0],
    ["750", 750],
    ["1234.567", 1234.567],
    ["999999999999.999", 999999999999.999],
    ["9007199254740993", "9007199254740993"],
    ["1000000000000000.123", "1000000000000000.123"],
    ["0.000000001", "0.000000001"],
    ["-0.000000001", "-0.000000001"],
    ["0.000001", 0.000001],
    ["-12345678901234567890", "-12345678901234567890"],
  ])("keeps every digit of %s", (text, want) => {
    expect(parseJson(`{"amount":${text}}`)).toEqual({ amount: want });
    expect(String((parseJson(`[${text}]`) as unknown[])[0])).toBe(text);
  });

  test("leaves strings alone, whatever is in them", () => {
    const doc = { id: '9007199254740993 "0.000000001" \\', "12345678901234567890": ["a", null, true, 0.000000001 > 0] };
    expect(parseJson(JSON.stringify(doc))).toEqual(doc);
  });

  test("refuses what is no JSON, also beside a doubtful number", () => {
    expect(() => parseJson("9007199254740993,")).toThrow(SyntaxError);
    expect(() => parseJson("{")).toThrow(SyntaxError);
  });
});
