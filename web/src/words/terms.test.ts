import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Reason } from "../api/types";
import {
  degradedMeaning, degradedReason, dimensionName, dimensionTitle, endsByItself, modeMeaning, modeName, policyMeaning,
  reasonLong, reasonShort, rejectionMeaning, ruleMeaning, sourceName, windowName, windowNoun,
} from "./terms";

/** The words of an enumeration in the API's own description: a schema of what goes over the wire, or of HTTP alone. */
function wordsOf(file: string, name: string): string[] {
  const path = new URL(`../../../${file}.json`, import.meta.url);
  const document = JSON.parse(readFileSync(path, "utf8")) as { $defs?: Words; components?: { schemas: Words } };
  return (document.$defs ?? document.components?.schemas)?.[name]?.enum ?? [];
}

type Words = Record<string, { enum?: string[] }>;

describe("every word of the API has a meaning here", () => {
  test.each<[string, string, (word: never) => string]>([
    ["schemas/reply", "Reason", reasonShort],
    ["schemas/reply", "Reason", reasonLong],
    ["schemas/reply", "Degraded", degradedReason],
    ["schemas/common", "Window", windowName],
    ["schemas/common", "Window", windowNoun],
    ["httpapi/openapi/plans", "Source", sourceName],
    ["schemas/rejected", "Rejection", rejectionMeaning],
  ])("%s %s", (file, schema, say) => {
    const words = wordsOf(file, schema);
    expect(words.length).toBeGreaterThan(2);
    const said = words.map((word) => say(word as never));
    expect(new Set(said).size).toBe(words.length); // no two read the same
    for (const text of said) expect(text).toMatch(/\w/);
  });
});

test.each([
  ["requests", "hourly", "requests per hour", "Requests per hour"],
  ["tokens", "5h", "tokens per 5 hours", "Tokens per 5 hours"],
  ["usd", "monthly", "US dollars per 30 days", "US dollars per 30 days"],
  ["percent", "5h", "the provider's 5-hour window", "Provider's 5-hour window"],
  ["percent", "weekly", "the provider's weekly window", "Provider's weekly window"],
] as const)("%s %s is %s", (unit, window, name, title) => {
  expect([dimensionName({ unit, window }), dimensionTitle({ unit, window })]).toEqual([name, title]);
});

test("reasons name what is used up", () => {
  const binding = { unit: "requests", window: "hourly" } as const;
  expect(reasonLong("fair-share", binding)).toContain("fair share of requests per hour, and");
  expect(reasonLong("global-saturated", binding)).toBe("The limit on requests per hour is used up by all keys together: the pool's, or that of the connection.");
  expect(reasonLong("model-cap", { ...binding, model: "k2" })).toBe("The key has reached the cap that was set for this model alone: requests per hour with k2.");
  expect(reasonLong("fair-share")).not.toContain("undefined");
});

test("only a suspension does not end by itself", () => {
  const all = wordsOf("schemas/reply", "Reason") as Reason[];
  expect(all.filter((reason) => !endsByItself(reason))).toEqual(["suspended"]);
});

test("modes, rules and policies say what they do", () => {
  expect(modeName("observe")).toBe("Observes");
  expect(modeMeaning("off")).toBe("counts usage, and judges nothing");
  expect(policyMeaning("hard")).toBe("hard: stops at its fair share while shares count");
  expect(ruleMeaning("guarantee")).toContain("kept free");
  expect(degradedMeaning("open")).toContain("pass");
  expect(degradedMeaning("closed")).toContain("blocks");
});
