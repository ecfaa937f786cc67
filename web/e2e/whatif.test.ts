import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test, vi } from "vitest";
import type { WhatIfReport } from "../src/api/answers";
import { stage } from "./stage";
import { fill } from "./world";

const on = stage();

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { name }).waitFor();

/** Tries what is entered, and returns what the engine answered. */
async function tried(page: Page): Promise<WhatIfReport> {
  const answer = page.waitForResponse((response) => response.url().endsWith("/api/quota/whatif"));
  await page.getByRole("button", { name: "Try it" }).click();
  return (await (await answer).json()) as WhatIfReport;
}

const cells = async (page: Page, row: string): Promise<string[]> => {
  const keys = page.getByRole("region", { name: "Each key before and after" });
  const all = await keys.getByRole("row").filter({ hasText: row }).first().locator("th, td").allInnerTexts();
  return all.map((cell) => cell.replace(/\s+/g, " ").trim());
};

beforeAll(async () => {
  await fill(on.engine);
  await on.engine.settled();
  for (const key of ["ci-runner", "ci-runner", "intern-notebook"]) await on.engine.post("/api/quota/decide", { apiKeyId: key, connectionId: "kimi-berlin", estimate: { requests: 5 } });
  await recorded();
});

/** The blocks above are tried once the log of decisions has them, about a second later. */
async function recorded(): Promise<void> {
  const tried = async () => (await on.engine.post("/api/quota/whatif", { withoutPools: ["trial"] })) as WhatIfReport;
  await vi.waitFor(async () => expect((await tried()).asked.blocks).toBeGreaterThan(1), { timeout: 10_000, interval: 300 });
}

describe("other weights", () => {
  test.each([
    ["whatif-light", {}],
    ["whatif-dark", { dark: true }],
    ["whatif-narrow", { width: 360 }],
  ])("show what they would have done, with the figures of the engine: %s", (name, options) =>
    on.visit("#/whatif?pool=kimi-team", options, async (page) => {
      await page.getByLabel("Weight of ci-runner").fill("50");
      await page.getByLabel("Weight of nina-laptop").fill("10");
      await page.getByText("weight of ci-runner: 20 →").waitFor();
      const report = await tried(page);
      const { total, keys } = report;
      await heading(page, `${total.newlyAllowed} requests that were blocked would have passed.`);
      const row = keys.find((key) => key.apiKeyId === "ci-runner");
      if (!row || total.newlyAllowed === 0) throw new Error(`nothing is another: ${JSON.stringify(total)}`);
      const both = (before: number, after: number): string => (before === after ? `${after}` : `${before} → becomes ${after}`);
      expect(await cells(page, "ci-runner")).toEqual(expect.arrayContaining([String(row.newlyAllowed), both(row.before.allowed, row.after.allowed), both(row.before.blocked, row.after.blocked)]));
      await on.picture(page, name);
    }));

  test.each([[1280, 1], [360, 4]])("have titles where they are read: %i wide above %i of the rows", (width, titled) =>
    on.visit("#/whatif?pool=kimi-team", { width }, async (page) => {
      await page.getByLabel("Weight of ci-runner").waitFor();
      const shown = (title: string): Promise<number> => page.locator(".trial-row .field-label", { hasText: title }).evaluateAll((labels) => labels.filter((label) => label.clientHeight > 1).length);
      expect([await shown("Weight"), await shown("Above its share")]).toEqual([titled, titled]);
    }));

  test("that are none are told where they stand", () =>
    on.visit("#/whatif?pool=kimi-team", { expected: /400/ }, async (page) => {
      await page.getByLabel("Weight of ci-runner").fill("-1");
      await page.getByRole("button", { name: "Try it" }).click();
      await page.getByText("The weight is not within 0 to 100").waitFor();
      await on.picture(page, "whatif-wrong");
    }));
});

test("a smaller limit blocks what passed", () =>
  on.visit("#/whatif?pool=kimi-team", {}, async (page) => {
    await page.getByText("Other limits of its connections").click();
    await page.getByLabel("Limit of Requests per hour of kimi-berlin").fill("400");
    await page.getByText("requests per hour of kimi-berlin: 1,500 requests →").waitFor();
    const report = await tried(page);
    expect(report.total.newlyBlocked).toBeGreaterThan(0);
    await heading(page, /passed would have been blocked/);
    await page.getByText("limit used up 0 →").waitFor();
    await on.picture(page, "whatif-limits");
  }));

test.each([
  ["whatif-guarantee", {}],
  ["whatif-guarantee-narrow-dark", { dark: true, width: 360 }],
])("the other way of sharing says who would have had more, and who less: %s", (name, options) =>
  on.visit("#/whatif?pool=kimi-team", options, async (page) => {
    await page.getByLabel("How it shares").selectOption("guarantee");
    await page.getByLabel("Reserve").fill("50");
    await page.getByText("how it shares: by threshold →").waitFor();
    const { shifts } = await tried(page);
    const first = shifts[0]?.more[0] ?? shifts[0]?.less[0];
    await heading(page, "Who would have had more, and who less");
    if (!first) throw new Error("nobody has more or less");
    const region = page.getByRole("region", { name: "Who would have been served more, and who less" });
    await region.getByRole("row").filter({ hasText: first.apiKeyId }).first().waitFor();
    expect(await region.getByRole("row").count()).toBe(1 + shifts.flatMap(({ more, less }) => [...more, ...less]).length);
    await on.picture(page, name);
  }));

test("settings are tried for all pools", () =>
  on.visit("#/whatif?pool=codex", { dark: true, width: 360 }, async (page) => {
    await page.getByText("Other settings of the engine, for all pools").click();
    await page.getByLabel("When shares begin to count").fill("100 %");
    await page.getByText("Tried: 100 % of the limit.").waitFor();
    const report = await tried(page);
    expect(report.total.newlyBlocked).toBe(0);
    await heading(page, /blocked would have passed/);
    await on.picture(page, "whatif-settings-narrow-dark");
  }));

test("without the pool nothing of it is left", () =>
  on.visit("#/whatif?pool=kimi-team", {}, async (page) => {
    await page.getByLabel("The pool").selectOption("gone");
    await page.getByText("Kimi for the team: is there →").waitFor();
    const report = await tried(page);
    expect(report.keys.find((key) => key.apiKeyId === "ci-runner")?.after.blocked).toBe(0);
    await heading(page, /blocked would have passed/);
    await on.picture(page, "whatif-gone");
  }));
