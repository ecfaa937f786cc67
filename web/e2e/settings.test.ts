import { beforeAll, expect, test } from "vitest";
import { control, lastChange, read, refusals, sizes } from "./reading";
import { stage } from "./stage";
import { fill } from "./world";

const on = stage();

beforeAll(() => fill(on.engine));

interface SettingsAnswer {
  settings: Record<string, { value: number; source: string }>;
}

const setting = async (name: string) => (await read<SettingsAnswer>(on, "settings")).settings[name];

const threshold = "New value of saturationThreshold, in parts of 1";

test.each(sizes)("each value says where it comes from: %s", (name, options) =>
  on.visit("#/settings", { ...options, expected: refusals }, async (page) => {
    await page.getByText("When shares begin to count").waitFor();
    const shown = await page.locator(".setting").evaluateAll((rows) => rows.map((row) => [row.querySelector("code")?.textContent, row.querySelector(".setting-value")?.textContent]));
    for (const [key, value] of shown) expect(value?.replaceAll(",", "").split(/\s/)[0]).toBe(String((await setting(key ?? ""))?.value));
    await on.picture(page, `settings-${name}`);
    await control(page, threshold).fill("80");
    await page.getByText("is not a number within 0 to 1", { exact: false }).waitFor();
    await on.picture(page, `settings-wrong-${name}`);
  }));

test("a setting says whom it would free, is stored as it was typed, and taken away", () =>
  on.visit("#/settings", {}, async (page) => {
    await control(page, threshold).fill("99.5 %");
    await page.getByText("0.995: 99.5 % of the limit").waitFor();
    await page.getByText("would be free again right now", { exact: false }).waitFor();
    await on.picture(page, "settings-frees");
    await control(page, "Why").fill("a quiet week");
    await page.getByRole("button", { name: "Save the settings" }).click();
    await page.getByText("set by hand").waitFor();
    await page.getByText(": a quiet week", { exact: false }).waitFor();
    expect(await setting("saturationThreshold")).toMatchObject({ value: 0.995, source: "stored" });
    await page.getByRole("button", { name: "Take away what is set" }).click();
    await page.getByRole("button", { name: "Save the settings" }).click();
    await page.getByText("set by hand").waitFor({ state: "detached" });
    expect(await setting("saturationThreshold")).toMatchObject({ value: 0.5, source: "default" });
    expect(await lastChange(on)).toMatchObject({ kind: "settings" });
  }));

test("what somebody else sets meanwhile is said, and both can hold", () =>
  on.visit("#/settings", { expected: refusals }, async (page) => {
    await control(page, threshold).fill("0.75");
    await on.engine.send("PUT", "/api/quota/settings", { maxLagMs: 9000 }, { "X-Quota-Actor": "tomasz" });
    await page.getByRole("alert").getByText("tomasz changed the settings meanwhile").waitFor();
    await page.getByText("They changed how far the engine may be behind.", { exact: false }).waitFor();
    await on.picture(page, "settings-lost");
    await page.getByRole("button", { name: "Go on with both" }).click();
    await page.getByRole("button", { name: "Save the settings" }).click();
    await page.getByText("0.75 (75 % of the limit)").waitFor();
    expect([await setting("saturationThreshold"), await setting("maxLagMs")]).toMatchObject([{ value: 0.75 }, { value: 9000 }]);
  }));
