import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { settingNames, settingSource, settingValue, settingWords } from "./setting";

test("every setting of the API has words, and each other ones", () => {
  const text = readFileSync(new URL("../../../docs/CONFIGURATION.md", import.meta.url), "utf8");
  const section = text.slice(text.indexOf("\n## Settings"), text.indexOf("\n## Revisions"));
  const names = [...section.matchAll(/^\| `(\w+)` \|/gm)].map((row) => row[1]);
  expect([...settingNames].sort()).toEqual(names.sort());
  expect(new Set(settingNames.map((name) => settingWords(name).title)).size).toBe(names.length);
});

test.each([
  ["signalTtlMs", 30_000, "30,000 ms (30 s)"],
  ["maxLagMs", 1, "1 ms"],
  ["consumptionRetentionDays", 1, "1 day"],
  ["consumptionRetentionDays", 3650, "3,650 days"],
  ["holdTtlMs", 90_000, "90,000 ms (90 s)"],
  ["holdTtlMs", 3_600_000, "3,600,000 ms (1 h)"],
  ["maxLagMs", 1500, "1,500 ms"],
  ["saturationThreshold", 0.5, "0.5 (50 % of the limit)"],
  ["saturationThreshold", 0, "0 (0 % of the limit)"],
  ["decisionSampleRate", 0.000001, "0.000001 (0.0001 % of allowed answers)"],
] as const)("%s %d is %s", (name, value, want) => expect(settingValue(name, value).replaceAll("\u00a0", " ")).toBe(want));

test.each([
  [{ source: "default" }, "the default"],
  [{ source: "stored" }, "set by hand"],
  [{ source: "environment", from: "decider-1" }, "from the environment of decider-1"],
  [{ source: "environment" }, "from the environment"],
] as const)("%j comes %s", (of, want) => expect(settingSource({ value: 1, default: 1, ...of })).toBe(want));
