import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { live } from "./browser";
import { stage } from "./stage";
import { fill } from "./world";

const on = stage();

const background = (page: Page): Promise<string> => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);

describe("the frame", () => {
  test.each(["pools", "plans", "why", "whatif", "decisions", "rejected", "settings", "edit", "pools/x"])("leads to %s", (address) =>
    on.visit(`#/${address}`, {}, async (page) => {
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await page.locator("nav [aria-current=page]").count()).toBe(1);
      await on.picture(page, `frame-${address.replace("/", "-")}`);
    }));

  test("an address that leads nowhere says so", () =>
    on.visit("#/nowhere", {}, async (page) => {
      await page.getByRole("link", { name: "All pools" }).click();
      await page.getByRole("heading", { level: 1, name: "Pools" }).waitFor();
    }));

  test("goes by keyboard, and the title of a new page has the focus", () =>
    on.visit("", {}, async (page) => {
      await page.getByRole("heading", { level: 1, name: "Pools" }).waitFor();
      await page.keyboard.press("Tab");
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the content");
      await page.keyboard.press("Enter");
      expect(await page.evaluate(() => document.activeElement?.id)).toBe("content");
      await page.getByRole("link", { name: "Plans" }).press("Enter");
      await page.getByRole("heading", { level: 1, name: "Plans" }).waitFor();
      await page.waitForFunction(() => document.activeElement?.tagName === "H1");
      expect(await page.title()).toBe("Plans · Quotashare");
    }));

  test("is dark where that was chosen, also when it is opened again", () =>
    on.visit("", {}, async (page) => {
      const light = await background(page);
      await page.getByRole("radio", { name: "Dark" }).check({ force: true });
      const dark = await background(page);
      expect(dark).not.toBe(light);
      await page.reload();
      expect(await background(page)).toBe(dark);
      await page.getByRole("radio", { name: "As the system" }).check({ force: true });
      expect(await background(page)).toBe(light);
    }));

  test("says that its numbers are old while there is no engine, and goes on by itself when there is one", () =>
    on.visit("", { expected: /Failed to load resource|ERR_/ }, async (page) => {
      await fill(on.engine);
      const card = page.getByRole("article").filter({ hasText: "Kimi for the team" });
      await card.getByText("1,971 of 3,000").waitFor();
      await on.engine.kill();
      await page.getByText(/^(Connecting again|No stream, asking every 30 s|The engine does not answer): numbers are of \d\d:\d\d:\d\d/).waitFor();
      await card.getByText("1,971 of 3,000").waitFor();
      await on.engine.resume();
      await live(page);
      await on.engine.publish("quota.consumption", { apiKeyId: "ci-runner", connectionId: "kimi-berlin", cost: { requests: 9 } });
      await card.getByText("1,980 of 3,000").waitFor();
    }));

  test("is all there after 150 KB", () =>
    on.visit("", {}, async (page) => {
      await page.getByRole("heading", { level: 1, name: "Pools" }).waitFor();
      // As they came: compressed, and without the headers.
      const files = await page.evaluate(() =>
        [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
          .map((entry) => entry as PerformanceResourceTiming)
          .filter(({ name }) => !name.includes("/api/"))
          .map(({ name, encodedBodySize, decodedBodySize }) => ({ name, encodedBodySize, decodedBodySize })),
      );
      expect(files.filter(({ name }) => name.endsWith(".js")).length).toBeGreaterThan(0);
      expect(files.every(({ encodedBodySize, decodedBodySize }) => encodedBodySize < decodedBodySize)).toBe(true);
      expect(files.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)).toBeLessThanOrEqual(150 * 1024);
    }));
});
