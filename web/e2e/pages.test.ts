import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { keyboardFaults, live, seriousFindings, widerThanWindow } from "./browser";
import { shots } from "./pages";
import { stage } from "./stage";
import { tell } from "./story";

const on = stage();

describe("every page, with all that it shows", () => {
  beforeAll(() => tell(on.engine));

  test.each(Object.entries(shots))("%s is for everybody: light, dark, narrow, and without a mouse", (_, { address, ready }) =>
    on.visit(address, { width: 1280 }, async (page) => {
      await live(page);
      await ready(page);
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 900 });
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          expect(await seriousFindings(page), `${colorScheme}, ${width} wide`).toEqual([]);
        }
        expect(await widerThanWindow(page), `${width} wide`).toBe(false);
        expect(await keyboardFaults(page), `${width} wide`).toEqual([]);
      }
    }));

  test("a weight is changed with the keyboard alone", () =>
    on.visit("", { width: 1280 }, async (page) => {
      await shots["pools"]?.ready(page);
      await tabTo(page, "Kimi for everyone");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Kimi for everyone" }).waitFor();
      await tabTo(page, "Edit");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Change Kimi for everyone" }).waitFor();
      await tabTo(page, "Weight");
      await page.keyboard.press("Control+A");
      await page.keyboard.type("35");
      await page.getByText("Weights sum to 95", { exact: false }).waitFor();
      await tabTo(page, "Save the pool");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Kimi for everyone", exact: true }).waitFor();
      const { pool } = (await (await fetch(`${on.engine.url}/api/quota/pools/kimi-shared`)).json()) as { pool: { allocations: { weight: number }[] } };
      expect(pool.allocations.map(({ weight }) => weight)).toEqual([35, 20, 30, 10]);
    }));
});

/** Presses Tab until the focus is on what has the name. */
async function tabTo(page: Page, name: string): Promise<void> {
  const here = (): Promise<string | null> => page.evaluate(() => {
    const at = document.activeElement as HTMLInputElement | null;
    return at?.labels?.[0]?.textContent ?? at?.textContent ?? null;
  });
  for (let presses = 0; (await here())?.trim() !== name; presses++) {
    if (presses === 200) throw new Error(`Tab leads to no ${name}`);
    await page.keyboard.press("Tab");
  }
}
