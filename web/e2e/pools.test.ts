import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPage, seriousFindings, startBrowser, widerThanWindow } from "./browser";
import { type Engine, startEngine } from "./engine";
import { type Front, startFront } from "./front";
import { fill } from "./world";

/** Where pictures go that somebody wants to look at. */
const pictures = process.env["PICTURES"] ?? join(tmpdir(), "quotashare-pictures");

let engine: Engine;
let front: Front;
let browser: Browser;

beforeAll(async () => {
  await mkdir(pictures, { recursive: true });
  engine = await startEngine();
  [front, browser] = await Promise.all([startFront(engine.url), startBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await front?.stop();
  await engine?.stop();
});

describe("the pools page", () => {
  test("says what to do where there is no pool", async () => {
    const { page, faults } = await openPage(browser, front.url);
    await page.getByRole("heading", { name: "No pool yet" }).waitFor();
    await page.screenshot({ path: join(pictures, "empty-light.png") });
    expect(await seriousFindings(page)).toEqual([]);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test("shows pools that come, and bars that move, without a reload", async () => {
    const { page, faults } = await openPage(browser, front.url);
    await page.getByRole("heading", { name: "No pool yet" }).waitFor();
    await fill(engine);
    const card = page.getByRole("article").filter({ hasText: "Kimi for the team" });
    await card.getByText("1,971 of 3,000").waitFor();
    await card.getByText("65.7 % of the limit").waitFor();
    const part = card.locator(".bar-part.hue-0").first();
    const before = await part.evaluate((node) => node.getBoundingClientRect().width);
    await engine.post("/api/quota/events", { apiKeyId: "nina-laptop", connectionId: "kimi-berlin", cost: { requests: 300 } });
    await card.getByText("2,271 of 3,000").waitFor();
    const after = await part.evaluate((node) => node.getBoundingClientRect().width);
    expect(after / before).toBeCloseTo(1122 / 822, 1);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test.each([
    ["light", { dark: false }],
    ["dark", { dark: true }],
    ["narrow-light", { width: 360, height: 900 }],
    ["narrow-dark", { dark: true, width: 360, height: 900 }],
  ])("can be read by all: %s", async (name, options) => {
    const { page, faults } = await openPage(browser, front.url, options);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("article").nth(4).getByText("amelie").waitFor();
    await page.screenshot({ path: join(pictures, `pools-${name}.png`), fullPage: true });
    expect(await seriousFindings(page)).toEqual([]);
    expect(await widerThanWindow(page)).toBe(false);
    expect(faults).toEqual([]);
    await page.context().close();
  });
});
