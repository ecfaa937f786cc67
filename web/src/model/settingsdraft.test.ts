import { expect, test } from "vitest";
import type { Settings } from "../api/types";
import { changedSettings, settingsDocument, type SettingsDraft, typedSetting } from "./settingsdraft";

const settings = {
  saturationThreshold: { value: 0.8, source: "stored", default: 0.5 },
  maxLagMs: { value: 5000, source: "default", default: 5000 },
  holdTtlMs: { value: 60_000, source: "environment", from: "decider", default: 300_000 },
  revision: 3,
} as unknown as Settings;

test.each<[string, SettingsDraft, object]>([
  ["nothing typed is nothing sent", {}, {}],
  ["what was emptied again keeps what is set", { saturationThreshold: " ", maxLagMs: undefined }, {}],
  ["what is stored already is not sent", { saturationThreshold: "0.8" }, {}],
  ["another value is sent as it was typed", { saturationThreshold: " 0.90 " }, { saturationThreshold: "0.90" }],
  ["a value in another unit is sent in that of the engine", { saturationThreshold: "90 %", holdTtlMs: "2 min" }, { saturationThreshold: "0.9", holdTtlMs: "120000" }],
  ["what is stored already is not sent in another unit either", { saturationThreshold: "80%" }, {}],
  ["a default that is typed is stored", { maxLagMs: "5000", holdTtlMs: "60000" }, { maxLagMs: "5000", holdTtlMs: "60000" }],
  ["what is set is taken away, a default is not", { saturationThreshold: null, maxLagMs: null, holdTtlMs: null }, { saturationThreshold: null, holdTtlMs: null }],
])("%s", (_, draft, want) => expect(settingsDocument(settings, draft)).toEqual(want));

test.each([
  ["maxLagMs", "30 s", "30000"],
  ["maxLagMs", "1.5min", "90000"],
  ["maxLagMs", "1,500 ms", "1500"],
  ["maxLagMs", "2 h", "7200000"],
  ["maxLagMs", "0.0001 s", "0.1"],
  ["maxLagMs", "5 %", "5 %"],
  ["maxLagMs", "soon s", "soon s"],
  ["maxLagMs", "5 weeks", "5 weeks"],
  ["maxLagMs", "1,500", "1500"],
  ["decisionSampleRate", "0.5%", "0.005"],
  ["decisionSampleRate", "33.3333 %", "0.333333"],
  ["consumptionRetentionDays", "90 days", "90"],
] as const)("of %s %j is %j", (name, text, want) => expect(typedSetting(name, text)).toBe(want));

test("what two revisions have otherwise", () => {
  const stored = { value: 0.8, source: "stored", default: 0.5 };
  const both = { saturationThreshold: stored, maxLagMs: stored } as unknown as Settings;
  expect(changedSettings(both, { ...both, maxLagMs: { ...stored, source: "environment" }, revision: 9 } as Settings)).toEqual(["maxLagMs"]);
});
