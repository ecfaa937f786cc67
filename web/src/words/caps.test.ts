import { expect, test } from "vitest";
import type { Pool } from "../api/types";
import { nbsp } from "./amount";
import { capWords } from "./caps";

const pool = {
  allocations: [
    { apiKeyId: "ann", caps: [{ unit: "usd", window: "daily", value: 20 }, { unit: "tokens", window: "5h", value: "5000" }] },
    { apiKeyId: "bob", capUnit: "requests", capValue: 1 },
    { apiKeyId: "cat" },
  ],
  modelCaps: [{ apiKeyId: "cat", model: "o3", capUnit: "tokens", capValue: 900 }],
} as Pool;

test.each([
  ["ann", ["$20.00 per day", "5,000 tokens per 5 hours"]],
  ["bob", ["1 request in every window"]],
  ["cat", ["900 tokens per hour with o3"]],
  ["dan", []],
])("the caps of %s", (key, want) => expect(capWords(pool, key).map((text) => text.replaceAll(nbsp, " "))).toEqual(want));
