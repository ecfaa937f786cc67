import type { CDPSession, Page } from "playwright-core";
import { expect, test } from "vitest";
import { grouped } from "../src/words/decimal";
import { stage } from "./stage";
import { fillLarge } from "./world";

const on = stage();

const rounds = 9;

/** How long the page has been busy until now, in milliseconds: scripts, styles, layout and all else that keeps it from answering. */
async function busy(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return 1000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0);
}

/** Waits until the cards at these places have the text. Looks seldom, because looking is work of the page too. */
function shows(page: Page, places: readonly number[], text: string): Promise<void> {
  return page.evaluate(
    ([at, wanted]) =>
      new Promise<void>((resolve) => {
        const cards = [...document.querySelectorAll("article")];
        const timer = setInterval(() => {
          if (!at.every((place) => cards[place]?.textContent?.includes(wanted))) return;
          clearInterval(timer);
          requestAnimationFrame(() => setTimeout(resolve)); // painted by then
        }, 100);
      }),
    [places, text] as const,
  );
}

const middle = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

/** Measures rounds of updates in the page: how busy each keeps it, and the longest that it does nothing else meanwhile. */
async function measured(page: Page, update: (round: number) => Promise<void>): Promise<{ took: number; longest: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  await page.evaluate(() => {
    const tasks: number[] = [];
    Object.assign(window, { tasks });
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ entryTypes: ["longtask"] });
  });
  const took: number[] = [];
  const longest: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const before = await busy(session);
    await update(round);
    took.push((await busy(session)) - before);
    const tasks = await page.evaluate(() => (window as unknown as { tasks: number[] }).tasks.splice(0));
    longest.push(Math.max(0, ...tasks)); // 0: none was long
  }
  return { took: middle(took), longest: middle(longest) };
}

const use = (pool: number) => ({ apiKeyId: "key-01", connectionId: `pool-${String(pool).padStart(2, "0")}-account`, cost: { requests: 10 } });

const total = (round: number): string => `${grouped(String(980 + round * 10))} of 1,500`;

/** Counts from now on how often each card was changed, by its place; what a reader would not see is counted too. */
function watchCards(page: Page): Promise<void> {
  return page.evaluate(() => {
    const changed = new Map<number, number>();
    Object.assign(window, { changed });
    new MutationObserver((list) => {
      const cards = [...document.querySelectorAll("article")];
      for (const { target } of list) {
        const place = cards.findIndex((card) => card.contains(target));
        changed.set(place, (changed.get(place) ?? 0) + 1);
      }
    }).observe(document.querySelector("main") ?? document.body, { subtree: true, childList: true, attributes: true, characterData: true });
  });
}

const changedCards = (page: Page): Promise<[number, number][]> => page.evaluate(() => [...(window as unknown as { changed: Map<number, number> }).changed]);

// What an update may cost is told by what it changes in the page: that is the same on every
// machine. The times are printed, for the middle of many rounds.
test("fifty pools of forty keys stay quick", () =>
  on.visit("", {}, async (page) => {
    await fillLarge(on.engine);
    await page.getByRole("article").nth(49).getByText(total(0)).waitFor();
    await watchCards(page);
    const one = await measured(page, async (round) => {
      await on.engine.post("/api/quota/events", use(50));
      await shows(page, [49], total(round));
    });
    const changed = new Map(await changedCards(page));
    const touched = changed.get(49) ?? 0;
    expect(touched).toBeGreaterThan(rounds);
    for (let place = 0; place < 49; place++) expect(changed.get(place) ?? 0, `card ${place}`).toBeLessThan(touched / 9); // a minute may have passed in each
    for (let round = 1; round <= rounds; round++) await on.engine.post("/api/quota/events", Array.from({ length: 49 }, (_, i) => use(i + 1)));
    const all = await measured(page, async (round) => {
      await on.engine.post("/api/quota/events", Array.from({ length: 50 }, (_, i) => use(i + 1)));
      await shows(page, Array.from({ length: 50 }, (_, i) => i), total(rounds + round));
    });
    process.stdout.write(`one pool of 50: ${one.took.toFixed(0)} ms busy; all of them: ${all.took.toFixed(0)} ms, ${all.longest.toFixed(0)} ms at a time\n`);
  }));
