import { expect, test } from "vitest";
import type { Settings } from "../api/types";
import { settingsDocument, type SettingsDraft } from "./settingsdraft";

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
  ["a default that is typed is stored", { maxLagMs: "5000", holdTtlMs: "60000" }, { maxLagMs: "5000", holdTtlMs: "60000" }],
  ["what is set is taken away, a default is not", { saturationThreshold: null, maxLagMs: null, holdTtlMs: null }, { saturationThreshold: null, holdTtlMs: null }],
])("%s", (_, draft, want) => expect(settingsDocument(settings, draft)).toEqual(want));
