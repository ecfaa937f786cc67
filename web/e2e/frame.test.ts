import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
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
      expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
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

  test("goes on by itself when the engine is started again", () =>
    on.visit("", { expected: /Failed to load resource|ERR_/ }, async (page) => {
      await fill(on.engine);
      const card = page.getByRole("article").filter({ hasText: "Kimi for the team" });
      await card.getByText("1,971 of 3,000").waitFor();
      await on.engine.pause();
      await page.getByText(/^Connecting again|^The engine does not answer|^No stream/).waitFor();
      await card.getByText("1,971 of 3,000").waitFor();
      await on.engine.resume();
      await page.getByText("Live", { exact: true }).waitFor();
      await on.engine.post("/api/quota/events", { apiKeyId: "ci-runner", connectionId: "kimi-berlin", cost: { requests: 9 } });
      await card.getByText("1,980 of 3,000").waitFor();
    }));
});
