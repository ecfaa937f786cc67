import { expect, test } from "vitest";
import { grouped } from "../src/words/decimal";
import { stage } from "./stage";
import { fillLarge } from "./world";

const on = stage();

/** What one update may take of the browser, in milliseconds. */
const most = 100;

test("fifty pools of forty keys stay quick", () =>
  on.visit("", {}, async (page) => {
    await fillLarge(on.engine);
    await page.getByRole("article").nth(49).getByText("980 of 1,500").waitFor();
    await page.evaluate(() => {
      const tasks: number[] = [];
      Object.assign(window, { tasks });
      new PerformanceObserver((list) => tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ entryTypes: ["longtask"] });
    });
    for (let round = 1; round <= 5; round++) {
      const events = Array.from({ length: 50 }, (_, i) => ({
        apiKeyId: "key-01", connectionId: `pool-${String(i + 1).padStart(2, "0")}-account`, cost: { requests: 10 },
      }));
      await on.engine.post("/api/quota/events", events);
      const total = grouped(String(980 + round * 10));
      for (const place of [0, 49]) await page.getByRole("article").nth(place).getByText(`${total} of 1,500`).waitFor();
    }
    // The longest that the page did nothing else: 0 when no task was long.
    const tasks = await page.evaluate(() => (window as unknown as { tasks: number[] }).tasks);
    expect(Math.max(0, ...tasks)).toBeLessThan(most);
  }));
