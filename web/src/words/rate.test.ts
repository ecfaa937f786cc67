import { expect, test } from "vitest";
import type { Amount } from "../api/json";
import type { Unit } from "../api/types";
import { nbsp } from "./amount";
import { perMinute, rateWords } from "./rate";

test.each<[Amount, string]>([[0, "0"], [0.2, "12"], ["0.000001", "0.00006"], ["9007199254740993", "540431955284459580"]])("%s per second is %s per minute", (a, want) =>
  expect(perMinute(a)).toBe(want),
);

test.each<[Amount, Unit, string]>([
  [0, "tokens", "no data"], ["0.2075", "requests", "12.4 requests per minute"], [0.01, "usd", "$0.60 per minute"],
])("%s %s per second", (a, unit, want) => expect(rateWords(a, unit).replaceAll(nbsp, " ")).toBe(want));
