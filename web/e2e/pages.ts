/** Every page there is, as the story fills it. */
import type { Locator, Page } from "playwright-core";

/** A page: where it is, and what is seen on it when it has all it shows. */
export interface Shot {
  readonly address: string;
  /** Where its picture begins, when that is not at the top. */
  readonly from?: (page: Page) => Locator;
  readonly ready: (page: Page) => Promise<void>;
}

const heading = (name: string | RegExp) => (page: Page) => page.getByRole("heading", { name }).first().waitFor();

const live = (page: Page) => page.getByRole("article").nth(3).getByText("invoice-reader").waitFor();

const drawn = async (page: Page): Promise<void> => {
  for (const name of ["Burn rate", "History"]) await page.getByRole("region", { name, exact: true }).locator("canvas").first().waitFor();
};

export const shots: Record<string, Shot> = {
  pools: { address: "", ready: live },
  cards: { address: "", ready: live, from: (page) => page.locator(".cards") },
  pool: { address: "#/pools/claude-product", ready: drawn },
  shares: { address: "#/pools/claude-product", ready: drawn, from: (page) => page.getByRole("heading", { name: "Allocations" }) },
  charts: { address: "#/pools/claude-product", ready: drawn, from: (page) => page.getByRole("heading", { name: "Burn rate" }) },
  edit: {
    address: "#/edit/kimi-shared",
    async ready(page) {
      await page.getByLabel("Weight", { exact: true }).first().fill("45");
      await page.getByText("Weights sum to 105", { exact: false }).waitFor();
      await page.getByText("Allowed, and perhaps not meant").waitFor();
    },
  },
  plans: { address: "#/plans/openai-finance", ready: (page) => page.getByLabel("At most").first().waitFor() },
  why: { address: "#/why?key=marco&connection=claude-max-berlin", ready: heading("marco would be blocked on claude-max-berlin") },
  whatif: {
    address: "#/whatif?pool=claude-product",
    from: (page) => page.getByText("How it shares", { exact: true }),
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
