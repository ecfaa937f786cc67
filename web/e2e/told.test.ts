import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import type { DecisionPage } from "../src/api/answers";
import type { Pool, Usage, UsedDimension } from "../src/api/types";
import { live } from "./browser";
import { read } from "./reading";
import { stage } from "./stage";
import { fill } from "./world";

/** What pages tell beside bars and shares, against the API; and what they tell where there is no stream. */
const on = stage();

const minute = 60_000;

/** The text as it is read, with the spaces of one's own keyboard. */
const plain = (text: string): string => text.replace(/\s+/g, " ").trim();

/** Rates, and requests under way: what a pool has besides what was used. */
async function goOn(): Promise<void> {
  const now = Date.now();
  await on.engine.post("/api/quota/pools", {
    id: "steady", name: "Steady", provider: "kimi", connections: [{ connectionId: "steady-1", weight: 2, maxConcurrent: 7 }],
    allocations: [{ apiKeyId: "ann", weight: 60 }, { apiKeyId: "bob", weight: 40 }],
  });
  const use = Array.from({ length: 6 }, (_, i) => ({ apiKeyId: "ann", connectionId: "steady-1", time: now - (6 - i) * minute, cost: { requests: 3 + i } }));
  await on.engine.post("/api/quota/events", use);
  await on.engine.post("/api/quota/decide", { apiKeyId: "bob", connectionId: "steady-1", reserve: true, estimate: { requests: 4 }, requestId: "r1" });
  await on.engine.post("/api/quota/decide", { apiKeyId: "quarterly-report-builder", connectionId: "openai-reports", estimate: { usd: 1 } });
  await on.engine.post("/api/quota/decide", { apiKeyId: "amelie", connectionId: "codex-pro" });
  await on.engine.settled();
}

const usage = async (id: string): Promise<Usage> => (await read<{ usage: Usage }>(on, `pools/${id}/usage`)).usage;

/** At most one decimal, cut off. */
const figure = (n: number): string => (Math.floor(n * 10 + 1e-6) / 10).toLocaleString("en");

/** The five figures above all pools, by what they are called. */
async function summary(page: Page): Promise<Record<string, string>> {
  const stats = await page.locator(".stat").all();
  return Object.fromEntries(await Promise.all(stats.map(async (stat) => [plain(await stat.locator("dt").innerText()), plain(await stat.locator(".stat-value").innerText())] as const)));
}

/** The same from the API. */
async function summed(): Promise<Record<string, string>> {
  const { pools } = await read<{ pools: Pool[] }>(on, "pools");
  const all = await Promise.all(pools.map(({ id }) => usage(id)));
  const percents = all.flatMap(({ dimensions }) => dimensions).flatMap((d) => (d.usedPercent === null ? [] : [Number(d.usedPercent)]));
  const borrowing = all.map(({ dimensions }) => new Set(dimensions.flatMap((d) => d.perKey.filter((key) => key.borrowing && (key.apiKeyId === "*" || key.allocation !== "*")).map((key) => key.apiKeyId))).size);
  const { decisions } = await read<DecisionPage>(on, `decisions?decision=block&from=${Date.now() - 60 * minute}&limit=1000`);
  const keys = new Set(pools.flatMap((pool) => pool.allocations.map((a) => a.apiKeyId)).filter((id) => id !== "*"));
  const count = (n: number, one: string): string => `${n} ${one}${n === 1 ? "" : "s"}`;
  const total = (of: number[]): number => of.reduce((a, b) => a + b, 0);
  return {
    Pools: String(pools.length), "Keys with a share": String(keys.size), "Average use": `${figure(total(percents) / percents.length)} %`,
    "Borrowing now": count(total(borrowing), "key"), "Blocked in the last hour": count(total(decisions.map((d) => d.count)), "request"),
  };
}

describe("what is told", () => {
  beforeAll(async () => {
    await fill(on.engine);
    await goOn();
  });

  test("above all pools is the sum of what the API says of each", () =>
    on.visit("", {}, async (page) => {
      await live(page);
      await page.getByRole("article").nth(5).getByText("amelie").waitFor();
      const want = await summed();
      expect(Object.keys(want)).toHaveLength(5);
      await expect.poll(() => summary(page), { timeout: 10_000 }).toEqual(want);
    }));

  test("once is enough of what all this is", () =>
    on.visit("", {}, async (page) => {
      await page.getByRole("button", { name: "Understood" }).click();
      await page.getByRole("heading", { name: /in three sentences/ }).waitFor({ state: "detached" });
      await page.reload();
      await page.getByRole("article").first().waitFor();
      expect(await page.getByRole("heading", { name: /in three sentences/ }).count()).toBe(0);
    }));

  test("of rates, of what is under way and of connections is what the API says", () =>
    on.visit("#/pools/steady", { width: 1600 }, async (page) => {
      await live(page);
      const table = page.getByRole("region", { name: "Allocations, requests per hour" });
      await table.waitFor();
      const cells = async (name: string): Promise<string[]> => (await table.locator(`td[data-label="${name}"]`).allInnerTexts()).map(plain);
      const [d] = (await usage("steady")).dimensions as [UsedDimension];
      expect(d.perKey.map((key) => [Number(key.burnRate.perSecond) > 0, Number(key.held)])).toEqual([[true, 0], [false, 4]]);
      const rates = async (): Promise<string[]> => (await usage("steady")).dimensions[0]?.perKey.map(({ burnRate: { perSecond } }) => (Number(perSecond) === 0 ? "no data" : figure(Number(perSecond) * 60))) ?? [];
      await expect.poll(async () => JSON.stringify(await cells("Per minute")) === JSON.stringify(await rates()), { timeout: 10_000 }).toBe(true);
      expect(await cells("In flight")).toEqual(d.perKey.map((key) => figure(Number(key.held))));
      const row = page.getByRole("region", { name: "Connections", exact: true }).locator("tbody tr").first();
      // What was used in the hour before counts less by the second, so both are read until they are of the same one.
      const same = async (): Promise<boolean> => {
        const [part] = (await usage("steady")).dimensions[0]?.perConnection ?? [];
        const shown = (await row.locator("th, td").allInnerTexts()).map(plain);
        return JSON.stringify(shown) === JSON.stringify(["steady-1", "2", `${figure(Number(part?.consumedTotal))} of ${figure(Number(part?.limit))} requests`, "1 of 7"]);
      };
      await expect.poll(same, { timeout: 10_000 }).toBe(true);
    }));

  test("without a stream comes by asking, and is said to", { timeout: 120_000 }, () =>
    on.visit("#/settings", { expected: /Failed to load resource|ERR_/ }, async (page) => {
      await page.route("**/api/quota/stream*", (route) => route.abort());
      await page.goto(`${on.engine.url}/#/pools`);
      await page.reload();
      await page.getByText(/^No stream, asking every 30 s: numbers are of \d\d:\d\d:\d\d/).first().waitFor();
      const card = page.getByRole("article").filter({ hasText: "Kimi for the team" });
      await card.getByText("1,971 of 3,000").waitFor();
      await on.engine.publish("quota.consumption", { apiKeyId: "ci-runner", connectionId: "kimi-berlin", cost: { requests: 9 } });
      await card.getByText("1,980 of 3,000").waitFor({ timeout: 45_000 });
      expect(await page.getByText("Live", { exact: true }).count()).toBe(0);
    }));
});
