import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { beforeEach, describe, expect, test } from "vitest";
import { clear, control, lastChange, read, refusals } from "./reading";
import { stage } from "./stage";

const on = stage();

const old = [
  { id: "old-kimi", name: "Kimi of old", provider: "kimi", connectionId: "old-1", createdAt: "2024-05-06T07:08:09Z", allocations: [{ apiKeyId: "nina-laptop", weight: 50, capValue: 100, capUnit: "requests", policy: "hard" }] },
  { id: "old-codex", name: "Codex of old", provider: "codex", connectionId: "old-2", allocations: [] },
];
const text = JSON.stringify(old);
const wrong = JSON.stringify([old[0], { ...old[1], name: "" }]);

const place = "omniroute:quota-share:pools";
const keep = (page: Page, kept: string): Promise<void> => page.evaluate(([name, value]) => localStorage.setItem(name, value), [place, kept] as const);
const kept = (page: Page): Promise<string | null> => page.evaluate((name) => localStorage.getItem(name), place);
const total = async (): Promise<number> => (await read<{ total: number }>(on, "pools")).total;

const opened = async (page: Page): Promise<void> => {
  await page.getByText("Live", { exact: true }).first().waitFor();
  await page.getByRole("heading", { level: 1 }).waitFor();
};

beforeEach(() => clear(on));

describe("pools of an older dashboard", () => {
  test("are brought when the page opens, once, and are then no longer kept", () =>
    on.visit("#/settings", {}, async (page) => {
      await opened(page);
      await keep(page, text);
      await page.reload();
      await page.getByText("2 pools of an older dashboard were brought here").waitFor();
      await on.picture(page, "migration");
      expect([await kept(page), await total()]).toEqual([null, 2]);
      const { pools } = await read<{ pools: object[] }>(on, "pools");
      expect(pools[1]).toMatchObject({ id: "old-kimi", createdAt: "2024-05-06T07:08:09.000Z", connectionIds: ["old-1"], allocations: [{ apiKeyId: "nina-laptop", weight: 50, capUnit: "requests", capValue: 100 }] });
      expect(await lastChange(on)).toMatchObject({ actor: "dashboard", reason: "pools of an older system" });
      await clear(on);
      await page.reload();
      await opened(page);
      expect(await total()).toBe(0); // what somebody deletes does not come back
    }));

  test("are brought once by two pages that open at once", () =>
    on.visit("#/settings", { expected: refusals }, async (page) => {
      await opened(page);
      await keep(page, text);
      const other = await page.context().newPage();
      await Promise.all([page.reload(), other.goto(page.url())]);
      await Promise.race([page, other].map((each) => each.getByText("2 pools of an older dashboard were brought here").waitFor()));
      await Promise.all([page, other].map(opened));
      expect(await Promise.all([page, other].map((each) => each.getByText("were not brought").count()))).toEqual([0, 0]);
      expect([await kept(page), await total()]).toEqual([null, 2]);
    }));

  test("are not brought again by a page that was closed before it had the answer", () =>
    on.visit("#/settings", {}, async (page) => {
      await opened(page);
      await keep(page, text);
      const answered = new Promise<void>((resolve) =>
        page.route("**/api/quota/pools", async (route) => {
          if (route.request().method() !== "POST") return route.continue();
          await route.fetch();
          resolve();
        }),
      );
      await page.reload();
      await answered;
      expect([await kept(page), await total()]).toEqual([text, 2]);
      const next = await page.context().newPage();
      const address = page.url();
      await page.close();
      await next.goto(address);
      await opened(next);
      await next.waitForFunction((name) => localStorage.getItem(name) === null, place);
      expect(await next.getByText("were not brought").count()).toBe(0);
      expect(await total()).toBe(2);
    }));

  test("stay kept when the engine cannot be reached, and are brought by the next try", () =>
    on.visit("#/settings", { expected: /ERR_FAILED/ }, async (page) => {
      await opened(page);
      await keep(page, text);
      await page.route("**/api/quota/pools", (route) => (route.request().method() === "POST" ? route.abort() : route.continue()));
      await page.reload();
      await page.getByText("were not brought: they stay kept in this browser").waitFor();
      await on.picture(page, "migration-failed");
      expect([await kept(page), await total()]).toEqual([text, 0]);
      await page.unroute("**/api/quota/pools");
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByText("2 pools of an older dashboard were brought here").waitFor();
      expect([await kept(page), await total()]).toEqual([null, 2]);
    }));

  test("stay kept, all of them, when one is wrong", () =>
    on.visit("#/settings", { expected: refusals }, async (page) => {
      await opened(page);
      await keep(page, wrong);
      await page.reload();
      await page.getByText("were not brought: they stay kept in this browser").waitFor();
      await page.getByText("[1].name is empty", { exact: false }).first().waitFor();
      expect([await kept(page), await total()]).toEqual([wrong, 0]);
    }));

  test("are left alone where there are pools, and are offered in the settings", () =>
    on.visit("#/settings", { expected: refusals }, async (page) => {
      await opened(page);
      await on.engine.post("/api/quota/pools", { id: "mine", name: "Mine", provider: "kimi", connectionIds: ["mine-1"] });
      await keep(page, text);
      await page.reload();
      await opened(page);
      await page.getByText("This browser keeps 2 pools of an older dashboard").waitFor();
      await page.getByRole("button", { name: "Put them into the field" }).click();
      await page.getByRole("button", { name: "Bring 2 pools" }).click();
      await page.getByText("there are pools already", { exact: false }).waitFor();
      await on.picture(page, "migration-offered");
      expect([await kept(page), await total()]).toEqual([text, 1]);
      await clear(on);
      await page.getByRole("button", { name: "Bring 2 pools" }).click();
      await page.getByRole("heading", { level: 1, name: "Pools" }).waitFor();
      expect([await kept(page), await total()]).toEqual([null, 2]);
    }));
});

describe("the list of an older system", () => {
  test("is pasted: all or none, and what is wrong is said by its place", () =>
    on.visit("#/settings", { expected: refusals }, async (page) => {
      const field = control(page, "The list, as JSON");
      await field.fill("[{");
      await page.getByText("this is no list of pools").waitFor();
      await field.fill(wrong);
      await page.getByRole("button", { name: "Bring 2 pools" }).click();
      await page.getByText("[1].name is empty", { exact: false }).waitFor();
      await on.picture(page, "import-wrong");
      expect(await total()).toBe(0);
      await field.fill(text);
      await page.getByRole("button", { name: "Bring 2 pools" }).click();
      await page.getByRole("link", { name: "Kimi of old" }).first().waitFor();
      expect(await total()).toBe(2);
    }));

  test("is opened from a file", () =>
    on.visit("#/settings", {}, async (page) => {
      const file = join(tmpdir(), `quotashare-pools-${process.pid}.json`);
      await writeFile(file, JSON.stringify({ pools: old, total: 2 }, null, 2));
      await page.getByLabel("Open a file").setInputFiles(file);
      await page.getByRole("button", { name: "Bring 2 pools" }).click();
      await page.getByRole("link", { name: "Codex of old" }).first().waitFor();
      expect(await total()).toBe(2);
    }));
});
