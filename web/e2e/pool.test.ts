import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { stage } from "./stage";
import { fill } from "./world";

const on = stage();

/** Some hours of work of two keys, with a time for each event. */
async function past(): Promise<void> {
  const now = Date.now();
  const events = Array.from({ length: 300 }, (_, i) => {
    const apiKeyId = ["nina-laptop", "ci-runner", "search-service"][i % 3] ?? "";
    const requests = 1 + Math.round(3 * Math.abs(Math.sin(i / 9)));
    return { id: `past-${i}`, apiKeyId, connectionId: "kimi-berlin", time: new Date(now - (300 - i) * 60_000).toISOString(), cost: { requests, tokens: requests * 900 } };
  });
  await on.engine.post("/api/quota/events", events);
}

const section = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

describe("the page of a pool", () => {
  beforeAll(async () => {
    await past();
    await fill(on.engine);
  });

  test.each([
    ["pool-light", {}],
    ["pool-dark", { dark: true }],
    ["pool-narrow-light", { width: 360 }],
    ["pool-narrow-dark", { dark: true, width: 360 }],
  ])("can be read by all: %s", (name, options) =>
    on.visit("#/pools/kimi-team", options, async (page) => {
      await page.getByRole("heading", { level: 1, name: "Kimi for the team" }).waitFor();
      await section(page, "History").locator("canvas").waitFor();
      await section(page, "Burn rate").locator("canvas").first().waitFor();
      await on.picture(page, name);
    }));

  test("shows a subscription that its provider tells of", () =>
    on.visit("#/pools/codex", {}, async (page) => {
      await page.getByText("used by no key").first().waitFor();
      await section(page, "History").locator("canvas").waitFor();
      await on.picture(page, "pool-codex");
    }));

  test("moves without a reload, and its figures are those of the API", () =>
    on.visit("#/pools/reports", {}, async (page) => {
      const row = page.getByRole("row").filter({ hasText: "summaries" });
      await row.getByText("$4.07", { exact: true }).waitFor();
      await on.engine.post("/api/quota/events", { apiKeyId: "summaries", connectionId: "openai-reports", cost: { usd: 1.5 } });
      await row.getByText("$5.57", { exact: true }).waitFor();
    }));

  test("tells the figures of a time that the arrow keys go to", () =>
    on.visit("#/pools/kimi-team", {}, async (page) => {
      const history = section(page, "History");
      await history.getByText("All of this time").waitFor();
      await history.getByRole("slider").press("End");
      await history.getByText(/^From /).waitFor();
      await history.getByRole("slider").press("ArrowLeft");
      await history.locator(".u-over").hover({ position: { x: 300, y: 60 } });
      await history.getByText("0 requests").first().waitFor();
      await history.getByText("Last hour", { exact: true }).click();
      await history.getByText("All of this time").waitFor();
    }));

  test("ticks its first steps as they happen", () =>
    on.visit("#/pools/fresh", {}, async (page) => {
      await page.getByRole("heading", { name: "There is no pool fresh" }).waitFor();
      await on.engine.post("/api/quota/pools", { id: "fresh", name: "Fresh", provider: "kimi", mode: "observe", connectionIds: ["fresh-1"], allocations: [{ apiKeyId: "ann", weight: 100 }] });
      const steps = section(page, "First steps");
      await steps.getByText("Events are seen still to come").waitFor();
      await section(page, "Allocations").waitFor();
      await on.picture(page, "pool-first-steps");
      await on.engine.post("/api/quota/events", { apiKeyId: "ann", connectionId: "fresh-1", cost: { requests: 1 } });
      await steps.getByText("Events are seen done").waitFor();
      expect(await steps.getByText("The pool enforces still to come").count()).toBe(1);
      await steps.getByText("Decisions are asked for still to come").waitFor();
      await on.engine.post("/api/quota/decide", { apiKeyId: "ann", connectionId: "fresh-1", reserve: true, estimate: { requests: 1 }, requestId: "first" });
      await steps.getByText("Decisions are asked for done").waitFor();
      await steps.getByText("Readings are seen not needed").waitFor();
      await on.engine.post("/api/quota/events", { type: "quota.saturation", connectionId: "fresh-1", readings: [{ window: "5h", usedPercent: 2, resetAt: new Date(Date.now() + 3_600_000).toISOString() }] });
      await steps.getByText("Readings are seen done").waitFor();
      await on.engine.send("PATCH", "/api/quota/pools/fresh", { mode: "enforce" });
      await steps.waitFor({ state: "detached" });
    }));

  test("the line above every page tells what no pool knows of", async () => {
    await on.engine.post("/api/quota/events", { apiKeyId: "stray-script", connectionId: "kimi-private", cost: { requests: 1 } });
    await on.visit("#/settings", {}, async (page) => {
      const line = section(page, "How far the numbers can be trusted");
      await line.getByText("Outside of pools 1 connection, 1 key").waitFor();
      await line.getByText("Used by no key 41 points of codex-pro, weekly window").waitFor();
      await line.getByText(/^Oldest reading .* ago$/).waitFor();
      await line.getByText("Let pass unsure none").waitFor();
    });
  });
});
