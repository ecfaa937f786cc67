import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { small } from "./png";
import { stage } from "./stage";
import { tell } from "./story";

const on = stage();

/** `npm run pictures` names the folder of the README; every other run shows that they can be made. */
const folder = process.env["DOCS_IMAGES"] ?? join(tmpdir(), "quotashare-images");
const most = 60 * 1024; // bytes

/** A page of the README: where it is, and what is seen on it when it has all it shows. */
interface Shot {
  readonly address: string;
  /** Where the picture begins, for pages that are longer than it; at the top without. */
  readonly from?: (page: Page) => Locator;
  readonly ready: (page: Page) => Promise<void>;
}

const heading = (name: string | RegExp) => (page: Page) => page.getByRole("heading", { name }).first().waitFor();

const live = (page: Page) => page.getByRole("article").nth(3).getByText("invoice-reader").waitFor();

const drawn = async (page: Page): Promise<void> => {
  for (const name of ["Burn rate", "History"]) await page.getByRole("region", { name, exact: true }).locator("canvas").first().waitFor();
};

const shots: Record<string, Shot> = {
  pools: { address: "", ready: live },
  cards: { address: "", ready: live, from: (page) => page.locator(".cards") },
  pool: { address: "#/pools/claude-product", ready: drawn },
  charts: { address: "#/pools/claude-product", ready: drawn, from: (page) => page.getByRole("heading", { name: "Burn rate" }) },
  edit: {
    address: "#/edit/kimi-shared",
    async ready(page) {
      await page.getByLabel("Weight", { exact: true }).first().fill("45");
      await page.getByText("Weights sum to 105", { exact: false }).waitFor();
    },
  },
  plans: { address: "#/plans/openai-finance", ready: heading("openai-finance") },
  why: { address: "#/why?key=marco&connection=claude-max-berlin", ready: heading("marco would be blocked on claude-max-berlin") },
  whatif: {
    address: "#/whatif?pool=claude-product",
    async ready(page) {
      await page.getByLabel("Weight of marco").fill("50");
      await page.getByLabel("Weight of lena").fill("10");
      await page.getByRole("button", { name: "Try it" }).click();
      await heading(/blocked would have passed/)(page);
    },
  },
  decisions: { address: "#/decisions", ready: (page) => page.getByRole("row").filter({ hasText: "marco" }).first().waitFor() },
  rejected: { address: "#/rejected", ready: (page) => page.getByText("quota.consumption").first().waitFor() },
  settings: { address: "#/settings", ready: (page) => page.getByText("When shares begin to count").waitFor() },
};

describe("pictures of every page", () => {
  beforeAll(async () => {
    mkdirSync(folder, { recursive: true });
    await tell(on.engine);
  });

  test.each(Object.entries(shots))("%s", (name, { address, from, ready }) =>
    on.visit(address, { width: 1280 }, async (page) => {
      await page.getByText("Live", { exact: true }).waitFor();
      await ready(page);
      await page.evaluate(() => scrollTo(0, 0)); // where a field was filled, the page has moved
      await from?.(page).evaluate((node) => scrollBy(0, node.getBoundingClientRect().top - 60));
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const file = join(folder, `${name}-${colorScheme}.png`);
        writeFileSync(file, small(await page.screenshot()));
        expect(statSync(file).size).toBeLessThanOrEqual(most);
      }
    }));
});
