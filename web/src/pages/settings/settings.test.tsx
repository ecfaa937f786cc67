// @vitest-environment happy-dom
import { expect, test } from "vitest";
import type { Settings } from "../../api/types";
import { settingNames } from "../../words/setting";
import { pageStage, refused } from "../stage";
import { SettingsPage } from ".";

const usual = { value: 5000, source: "default", default: 5000 };
const settings = {
  ...Object.fromEntries(settingNames.map((name) => [name, usual])),
  saturationThreshold: { value: 0.8, source: "stored", default: 0.5 },
  holdTtlMs: { value: 60_000, source: "environment", from: "decider-1", default: 300_000 },
  revision: 3, updatedAt: "2026-09-21T14:00:00.000Z", actor: "nina",
} as unknown as Settings;
const effects = { dryRun: true, blocked: [], freed: [] };

const stage = pageStage((path) => (path === "settings" ? { settings } : { pools: [], total: 0 }));

const threshold = "New value, in parts of 1";

test("each value says where it comes from", async () => {
  await stage.open(<SettingsPage />);
  const rows = [...stage.root.querySelectorAll(".setting-now")].map((row) => (row.textContent ?? "").replaceAll("\u00a0", " "));
  expect(rows).toHaveLength(settingNames.length);
  expect(rows).toContain("0.8set by handthe default is 0.5");
  expect(rows).toContain("60,000 ms (1 min)from the environment of decider-1the default is 300,000 ms (5 min)");
});

test("what is typed is tried, and saved against the revision that was seen", async () => {
  await stage.open(<SettingsPage />);
  stage.answer(() => ({ body: { ...effects, settings, freed: [{ poolId: "team", apiKeyId: "ann", reason: "fair-share", retryAfterMs: null }] } }));
  await stage.type(threshold, "0.9");
  expect(stage.sent).toEqual([{ method: "PUT", path: "settings?dryRun=true", match: undefined, body: { saturationThreshold: "0.9" } }]);
  expect(stage.text()).toContain("ann in team: was over its fair share");
  await stage.press("Save the settings");
  expect(stage.sent.at(-1)).toMatchObject({ path: "settings", match: '"3"', body: { saturationThreshold: "0.9" } });
});

test("a value is taken away, and what is wrong stands beside it", async () => {
  await stage.open(<SettingsPage />);
  stage.answer(() => refused(400, "invalid", "m", [{ field: "saturationThreshold", problem: "is not within 0 to 1" }]));
  await stage.type(threshold, "7");
  expect(stage.control(threshold).getAttribute("aria-invalid")).toBe("true");
  stage.answer(() => ({ body: { ...effects, settings } }));
  await stage.press("Take away what is set");
  expect(stage.sent.at(-1)).toMatchObject({ body: { saturationThreshold: null } });
});

test("pools of an older system are pasted, all or none", async () => {
  await stage.open(<SettingsPage />);
  const label = "The list, as JSON";
  await stage.type(label, "[{");
  expect(stage.control(label).getAttribute("aria-invalid")).toBe("true");
  stage.answer(() => refused(400, "invalid", "[0].name is missing", [{ field: "[0].name", problem: "is missing" }]));
  await stage.type(label, '[{"id":"a","connectionId":"k-1"}]');
  await stage.press("Bring 1\u00a0pool");
  expect(stage.text()).toContain("Nothing was brought[0].name is missing");
  stage.answer(() => ({ status: 201, body: { pools: [], total: 1 } }));
  await stage.press("Bring 1\u00a0pool");
  expect(stage.sent.at(-1)).toMatchObject({ method: "POST", path: "pools", body: [{ id: "a", connectionId: "k-1" }] });
  expect(location.hash).toBe("#/pools");
});
