import { expect, test } from "vitest";
import { plain } from "./typed";

test.each([
  ["1500", "1500"],
  [" 33.333333 ", "33.333333"],
  ["1,500", "1500"],
  ["12,345,678.25", "12345678.25"],
  ["1 500", "1500"],
  ["1\u202f500\u00a0000", "1500000"],
  ["$20", "20"],
  ["$ 1,000.000000001", "1000.000000001"],
  ["", ""],
])("%j is %j", (text, want) => expect(plain(text)).toBe(want));

test.each(["1,5", "1,50", "1,5000", "15,00,000", "1,500,00", "1.500,25", "-1,500", "80 %", "1e3", "many"])("%j is left for the engine to judge", (text) => expect(plain(text)).toBe(text));
