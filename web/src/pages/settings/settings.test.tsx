// @vitest-environment happy-dom
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";
import type { Settings } from "../../api/types";
import { settingNames } from "../../words/setting";
import { pageStage, refused } from "../stage";
import { SettingsPage } from ".";

const usual = { value: 5000, source: "default", default: 5000 };
const asSet = {
  ...Object.fromEntries(settingNames.map((name) => [name, usual])),
  saturationThreshold: { value: 0.8, source: "stored", default: 0.5 },
  holdTtlMs: { value: 60_000, source: "environment", from: "decider-1", default: 300_000 },
  revision: 3, updatedAt: "2026-09-21T14:00:00.000Z", actor: "nina",
} as unknown as Settings;
let settings: Settings;
const effects = { dryRun: true, blocked: [], freed: [] };

const stage = pageStage((path) => (path === "settings" ? { settings } : { pools: [], total: 0 }));

beforeEach(() => void (settings = asSet));

/** Somebody else stores other values, and the stream tells it. */
const changedTo = (values: Partial<Settings>): void => {
  settings = { ...asSet, revision: 9, actor: "tomasz", reason: "busy week", ...values };
  act(() => void stage.session.store.take([{ event: "config", data: JSON.stringify({ seq: 9, time: "2026-09-21T15:00:00.000Z", kind: "settings", change: "put", actor: "tomasz" }), id: "" }]));
};

const threshold = "New value, in parts of 1";

test("each value says where it comes from", async () => {
  await stage.open(<SettingsPage />);
  const rows = [...stage.root.querySelectorAll(".setting-now")].map((row) => (row.textContent ?? "").replaceAll("\u00a0", " "));
  expect(rows).toHaveLength(settingNames.length);
  expect(rows).toContain("0.8 (80 % of the limit)set by handthe default is 0.5 (50 % of the limit)");
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

test("a value may be typed in other units, and what it comes to is said", async () => {
  await stage.open(<SettingsPage />);
  stage.answer(() => ({ body: { ...effects, settings } }));
  await stage.type(threshold, "90 %");
  expect(stage.text()).toContain("0.9: 90 % of the limit");
  await stage.type("New value, in milliseconds", "90 s", 1);
  expect(stage.text()).toContain("90000: 90 s");
  expect(stage.sent.at(-1)).toMatchObject({ body: { saturationThreshold: "0.9", holdTtlMs: "90000" } });
});

test("what somebody else sets is shown at once where nothing was typed", async () => {
  await stage.open(<SettingsPage />);
  changedTo({ saturationThreshold: { value: 0.25, source: "stored", default: 0.5 } });
  await stage.settle();
  expect(stage.text()).toContain("0.25 (25 % of the limit)");
  expect(stage.text()).not.toContain("meanwhile");
});

test("a change of somebody else is said while one types, and both can hold", async () => {
  await stage.open(<SettingsPage />);
  stage.answer((of) => (of.match === '"3"' ? refused(412, "lost-race", "somebody else was first") : { body: { ...effects, settings } }));
  await stage.type(threshold, "0.9");
  changedTo({ maxLagMs: { value: 9000, source: "stored", default: 5000 } });
  await stage.settle();
  expect(stage.text()).toContain("tomasz changed the settings meanwhile");
  expect(stage.text()).toContain("They changed how far the engine may be behind. Why: busy week.");
  expect(stage.text()).toContain("You changed when shares begin to count. The two go together.");
  await stage.press("Save the settings");
  expect(stage.text()).toContain("somebody else was first");
  await stage.press("Go on with both");
  expect([stage.text().includes("meanwhile"), stage.control(threshold).value]).toEqual([false, "0.9"]);
  await stage.press("Save the settings");
  expect(stage.sent.at(-1)).toMatchObject({ path: "settings", match: '"9"', body: { saturationThreshold: "0.9" } });
});

test("what both set is said, and theirs can be taken", async () => {
  await stage.open(<SettingsPage />);
  stage.answer(() => ({ body: { ...effects, settings } }));
  await stage.type(threshold, "0.9");
  changedTo({ saturationThreshold: { value: 0.25, source: "stored", default: 0.5 } });
  await stage.settle();
  expect(stage.text()).toContain("Of what both of you changed, when shares begin to count, yours goes into the form.");
  await stage.press("Take theirs, drop mine");
  expect([stage.control(threshold).value, stage.text().includes("0.25 (25 % of the limit)")]).toEqual(["", true]);
});

test("the form is empty when it was saved, and says who and why", async () => {
  await stage.open(<SettingsPage />);
  stage.answer((of) => {
    if (of.match) settings = { ...asSet, revision: 9, saturationThreshold: { value: 0.9, source: "stored", default: 0.5 } };
    return { body: { ...effects, settings } };
  });
  await stage.type(threshold, "0.9");
  await stage.type("Your name", "nina");
  await stage.type("Why", "quiet week");
  await stage.press("Save the settings");
  expect(stage.sent.at(-1)).toMatchObject({ match: '"3"', actor: "nina", reason: "quiet week" });
  expect([stage.control(threshold).value, stage.control("Why").value, stage.text().includes("0.9 (90 % of the limit)")]).toEqual(["", "", true]);
  expect(stage.text()).not.toContain("meanwhile");
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

test("what an older dashboard left in this browser can be looked at and brought", async () => {
  localStorage.setItem("omniroute:quota-share:pools", '[{"id":"old"},{"id":"older"}]');
  await stage.open(<SettingsPage />);
  expect(stage.text()).toContain("This browser keeps 2 pools of an older dashboard");
  await stage.press("Put them into the field");
  expect(stage.control("The list, as JSON").value).toBe('[{"id":"old"},{"id":"older"}]');
  stage.answer(() => refused(409, "conflict", "there are pools already"));
  await stage.press("Bring 2\u00a0pools");
  expect(stage.text()).toContain("there are pools already");
  expect(localStorage.getItem("omniroute:quota-share:pools")).not.toBeNull();
  stage.answer(() => ({ status: 201, body: { pools: [], total: 2 } }));
  await stage.press("Bring 2\u00a0pools");
  expect(localStorage.getItem("omniroute:quota-share:pools")).toBeNull();
});

test("who may look alone sees each value, and no place for another", async () => {
  stage.session.who.identity.value = { needsToken: false, role: "read", name: "visitor" };
  await stage.open(<SettingsPage />);
  expect(stage.root.querySelectorAll(".setting-now")).toHaveLength(settingNames.length);
  expect([stage.root.querySelectorAll("input, textarea").length, stage.text().includes("by nina")]).toEqual([0, true]);
});

test("who has a token with a name is not asked for another", async () => {
  stage.session.who.identity.value = { needsToken: false, role: "admin", name: "nina-laptop" };
  await stage.open(<SettingsPage />);
  stage.answer(() => ({ body: { ...effects, settings } }));
  await stage.type(threshold, "0.9");
  expect(stage.text()).toContain("Kept in the log with the change, and that it was nina-laptop.");
  await stage.press("Save the settings");
  expect(stage.sent.at(-1)?.actor).toBeUndefined();
});
