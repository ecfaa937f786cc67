import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { stage } from "./stage";
import { fill } from "./world";

const on = stage();

interface Usage {
  usage: { dimensions: { perKey: { apiKeyId: string; fairShare: number }[] }[] };
}

const read = async <Answer>(path: string): Promise<Answer> => (await (await fetch(`${on.engine.url}/api/quota/${path}`)).json()) as Answer;

const label = (page: Page, text: string, place = 0) => page.getByLabel(text, { exact: true }).nth(place);

const old = [
  { id: "old-kimi", name: "Kimi of old", provider: "kimi", connectionId: "old-1", createdAt: "2024-05-06T07:08:09Z", allocations: [{ apiKeyId: "nina-laptop", weight: 50, capValue: 100, capUnit: "requests", policy: "hard" }] },
  { id: "old-codex", name: "Codex of old", provider: "codex", connectionId: "old-2", allocations: [] },
];

const place = "omniroute:quota-share:pools";

describe("pools of an older dashboard", () => {
  test("are brought when the page opens, once, and are then no longer kept", () =>
    on.visit("#/settings", {}, async (page) => {
      await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
      await page.evaluate(([name, text]) => localStorage.setItem(name, text), [place, JSON.stringify(old)] as const);
      await page.reload();
      await page.getByText("2 pools of an older dashboard were brought here").waitFor();
      await on.picture(page, "migration");
      expect(await page.evaluate((name) => localStorage.getItem(name), place)).toBeNull();
      expect((await read<{ total: number }>("pools")).total).toBe(2);
    }));

  test("are left alone where there are pools", () =>
    on.visit("#/plans", {}, async (page) => {
      await page.evaluate(([name, text]) => localStorage.setItem(name, text), [place, JSON.stringify([{ ...old[0], id: "other" }])] as const);
      await page.reload();
      await page.getByText("Live", { exact: true }).waitFor();
      await page.getByRole("heading", { level: 1, name: "Plans" }).waitFor();
      expect((await read<{ total: number }>("pools")).total).toBe(2);
      expect(await page.evaluate((name) => localStorage.getItem(name), place)).not.toBeNull();
      for (const { id } of old) await fetch(`${on.engine.url}/api/quota/pools/${id}`, { method: "DELETE" });
    }));
});

describe("the editor", () => {
  test("creates a pool whose shares are those that were shown", () =>
    on.visit("#/edit", { expected: /Failed to load resource/ }, async (page) => {
      await label(page, "Name").fill("Evening shift");
      await label(page, "Provider").fill("kimi");
      await label(page, "Connection").fill("kimi-evening");
      await label(page, "Key").fill("nina-laptop");
      await page.getByRole("button", { name: "Add a key" }).click();
      await label(page, "Key", 1).fill("ci-runner");
      await page.getByRole("button", { name: "Add everyone else" }).click();
      await page.getByRole("button", { name: "Split equally" }).click();
      await page.getByText("Weights sum to 100.").waitFor();
      await page.getByText("Nobody would be blocked or freed right now.").waitFor();
      await on.picture(page, "edit-new");
      const shown = await page.locator(".share-list dd").allTextContents();
      await page.getByRole("button", { name: "Create the pool" }).click();
      await page.waitForURL(/#\/pools\/.+/);
      const id = decodeURIComponent(/#\/pools\/(.+)/.exec(page.url())?.[1] ?? "");
      const { usage } = await read<Usage>(`pools/${id}/usage`);
      await fetch(`${on.engine.url}/api/quota/pools/${id}`, { method: "DELETE" });
      expect(shown).toEqual(usage.dimensions[0]?.perKey.map((key) => String(key.fairShare)));
    }));

  test.each([
    ["edit-light", {}],
    ["edit-dark", { dark: true }],
    ["edit-narrow", { width: 360 }],
  ])("says who would be blocked, before it is saved: %s", (name, options) =>
    on.visit("#/edit/reports", { ...options, expected: /Failed to load resource/ }, async (page) => {
      if ((await read<{ total: number }>("pools")).total === 0) {
        await fill(on.engine);
        await page.reload();
      }
      await page.getByText("Enforces", { exact: true }).click();
      await page.getByText("key would be blocked right now").waitFor();
      await page.getByText("quarterly-report-builder: at its cap on US dollars per day", { exact: false }).waitFor();
      await on.picture(page, name);
      await label(page, "Weight").fill("400");
      await page.getByText("is not within 0 to 100").first().waitFor();
      await on.picture(page, `${name}-wrong`);
    }));

  test("a lost race is shown as such", () =>
    on.visit("#/edit/night", { expected: /Failed to load resource/ }, async (page) => {
      await label(page, "Name").fill("Night batch of mine");
      await on.engine.send("PATCH", "/api/quota/pools/night", { mode: "observe" });
      await page.getByRole("alert").getByText("They changed: mode.").waitFor();
      await page.getByRole("button", { name: "Save the pool" }).click();
      await page.getByText("read it again and repeat the change", { exact: false }).waitFor();
      await on.picture(page, "edit-lost");
      await page.getByRole("button", { name: "Save mine over it" }).click();
      await page.waitForURL(/#\/pools\/night/);
      expect((await read<{ pool: { name: string; mode: string } }>("pools/night")).pool).toMatchObject({ name: "Night batch of mine", mode: "observe" });
    }));

  test("deleting asks, and a failure is shown", () =>
    on.visit("#/edit/trial", { expected: /Failed to load resource|ERR_/ }, async (page) => {
      await page.getByRole("button", { name: "Delete…" }).click();
      await page.getByText("Nobody would be blocked or freed right now.").waitFor();
      await on.picture(page, "edit-delete");
      await page.route("**/api/quota/pools/trial", (route) => (route.request().method() === "DELETE" ? route.abort() : route.continue()));
      await page.getByRole("button", { name: "Delete the pool" }).click();
      await page.getByText("Not deleted").waitFor();
      await on.picture(page, "edit-delete-failed");
      await page.unroute("**/api/quota/pools/trial");
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("heading", { level: 1, name: "Pools" }).waitFor();
      await page.getByRole("link", { name: "GLM trial" }).waitFor({ state: "detached" });
    }));
});

describe("plans and settings", () => {
  test.each([
    ["light", {}],
    ["dark", { dark: true }],
    ["narrow", { width: 360 }],
  ])("can be read: %s", (name, options) =>
    on.visit("#/plans", options, async (page) => {
      await page.getByRole("link", { name: "openai-reports" }).waitFor();
      await on.picture(page, `plans-${name}`);
      await page.goto(`${page.url().split("#")[0]}#/plans/openai-reports`);
      await page.getByText("It was set by hand, and goes before the catalogue.").waitFor();
      await label(page, "At most").fill("12.5");
      await page.locator(".plan-said .effects, .plan-said .soft").first().waitFor();
      await on.picture(page, `plan-${name}`);
      await page.goto(`${page.url().split("#")[0]}#/settings`);
      await page.getByText("When shares begin to count").waitFor();
      await on.picture(page, `settings-${name}`);
    }));

  test("a plan is set, and taken back", () =>
    on.visit("#/plans/kimi-night", {}, async (page) => {
      await page.getByText("what kimi is known to sell", { exact: false }).waitFor();
      await label(page, "At most").fill("1000.5");
      await page.getByRole("button", { name: "Save the plan" }).click();
      await page.getByText("It was set by hand").waitFor();
      await page.getByRole("button", { name: "Revert…" }).click();
      await page.getByRole("button", { name: "Revert the plan" }).click();
      await page.getByText("what kimi is known to sell", { exact: false }).waitFor();
    }));

  test("a setting is stored, and taken away", () =>
    on.visit("#/settings", {}, async (page) => {
      await label(page, "New value of saturationThreshold, in parts of 1").fill("0.9");
      await page.getByRole("button", { name: "Save the settings" }).click();
      await page.getByText("set by hand").waitFor();
      await page.getByRole("button", { name: "Take away what is set" }).click();
      await page.getByRole("button", { name: "Save the settings" }).click();
      await page.getByText("set by hand").waitFor({ state: "detached" });
    }));
});
