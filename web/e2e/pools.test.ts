import { describe, expect, test } from "vitest";
import { live } from "./browser";
import { stage } from "./stage";
import { fill } from "./world";

const on = stage();

describe("the pools page", () => {
  test("says what to do where there is no pool", () =>
    on.visit("", {}, async (page) => {
      await page.getByRole("heading", { name: "No pool yet" }).waitFor();
      await on.picture(page, "pools-empty");
    }));

  test("shows pools that come, and bars that move, without a reload", () =>
    on.visit("", {}, async (page) => {
      await page.getByRole("heading", { name: "No pool yet" }).waitFor();
      await fill(on.engine);
      const card = page.getByRole("article").filter({ hasText: "Kimi for the team" });
      await card.getByText("1,971 of 3,000").waitFor();
      await card.getByText("65.7 % of the limit").waitFor();
      const part = card.locator(".bar-part.hue-0").first();
      const width = (): Promise<number> => part.evaluate((node) => node.getBoundingClientRect().width);
      const before = await width();
      await on.engine.post("/api/quota/events", { apiKeyId: "nina-laptop", connectionId: "kimi-berlin", cost: { requests: 300 } });
      await card.getByText("2,271 of 3,000").waitFor();
      expect((await width()) / before).toBeCloseTo(1122 / 822, 1);
      await on.engine.publish("quota.consumption", { apiKeyId: "nina-laptop", connectionId: "kimi-berlin", cost: { requests: 200 } });
      await card.getByText("2,471 of 3,000").waitFor();
      expect((await width()) / before).toBeCloseTo(1322 / 822, 1);
    }));

  test.each([
    ["pools-light", {}],
    ["pools-dark", { dark: true }],
    ["pools-narrow-light", { width: 360 }],
    ["pools-narrow-dark", { dark: true, width: 360 }],
  ])("can be read by all: %s", (name, options) =>
    on.visit("", options, async (page) => {
      await live(page);
      await page.getByRole("article").nth(4).getByText("amelie").waitFor();
      await on.picture(page, name);
    }));
});
