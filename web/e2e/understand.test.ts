import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { stage } from "./stage";
import { fill } from "./world";

const on = stage();

/** Asks as a gateway does, so that there is something to explain. */
const ask = (apiKeyId: string, connectionId: string): Promise<unknown> => on.engine.post("/api/quota/decide", { apiKeyId, connectionId, estimate: { requests: 5 } });

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { name }).waitFor();

describe("decisions and why", () => {
  test("a block comes into the list without a reload, and leads to why", () =>
    on.visit("#/decisions", {}, async (page) => {
      await heading(page, "Nothing was blocked");
      const filled = (await fill(on.engine), await on.engine.post("/api/quota/events", { apiKeyId: "ci-runner", connectionId: "kimi-berlin", cost: { requests: 1 } })) as { results: { seq: number }[] };
      await fetch(`${on.engine.url}/api/quota/state?minSeq=${filled.results[0]?.seq ?? 0}`);
      await ask("ci-runner", "kimi-berlin");
      const row = page.getByRole("row").filter({ hasText: "ci-runner" });
      await row.getByText("over its fair share, requests per hour").waitFor();
      await ask("tomasz", "codex-pro");
      await ask("quarterly-report-builder", "openai-reports");
      await page.getByRole("row").filter({ hasText: "Would be blocked" }).waitFor();
      await on.picture(page, "decisions-light");
      await row.getByRole("link", { name: /Why/ }).click();
      await heading(page, "ci-runner was blocked on kimi-berlin");
      await page.getByText("705 used, share 600 requests").waitFor();
      await page.getByText("and the same answer comes out of the log again").waitFor();
      await on.picture(page, "why-light");
    }));

  test("the list is narrowed, and its address says how", () =>
    on.visit("#/decisions?key=tomasz", {}, async (page) => {
      await page.getByRole("row").filter({ hasText: "tomasz" }).waitFor();
      expect(await page.getByRole("row").count()).toBe(2);
      await page.getByLabel("Reason").selectOption("suspended");
      await heading(page, "None like that");
      expect(page.url()).toContain("reason=suspended");
    }));

  test("the slider asks about another moment", () =>
    on.visit("#/why?key=ci-runner&connection=kimi-berlin", {}, async (page) => {
      await heading(page, "ci-runner would be blocked on kimi-berlin");
      await page.getByRole("radio", { name: "1 h" }).check({ force: true });
      await page.getByRole("slider", { name: "Moment" }).focus();
      await page.keyboard.press("ArrowLeft");
      await page.waitForURL(/at=\d+/);
      await page.getByRole("button", { name: "Now" }).click();
      await heading(page, "ci-runner would be blocked on kimi-berlin");
      await page.getByLabel("Moment").first().waitFor();
    }));

  test.each([
    ["why-percent-dark", "tomasz", "codex-pro", "51.428571 used, share 50 points", { dark: true }],
    ["why-cap-narrow", "quarterly-report-builder", "openai-reports", "$23.481 used, cap $20.00", { width: 360 }],
  ])("the arithmetic is in figures: %s", (name, key, connection, figures, options) =>
    on.visit(`#/why?key=${key}&connection=${connection}`, options, async (page) => {
      await page.getByText(figures).waitFor();
      await on.picture(page, name);
    }));

  test("without a key the last answers are shown", () =>
    on.visit("#/why", { dark: true }, async (page) => {
      await heading(page, "Answered last");
      await on.picture(page, "why-empty-dark");
    }));
});

describe("what if", () => {
  test.each([
    ["whatif-light", {}],
    ["whatif-dark", { dark: true }],
    ["whatif-narrow", { width: 360 }],
  ])("other weights show what they would have done: %s", (name, options) =>
    on.visit("#/whatif?pool=kimi-team", options, async (page) => {
      await page.getByLabel("Weight of ci-runner").fill("50");
      await page.getByLabel("Weight of nina-laptop").fill("10");
      await page.getByText("weight of ci-runner: 20 →").waitFor();
      await page.getByRole("button", { name: "Try it" }).click();
      await heading(page, /blocked would have passed/);
      await on.picture(page, name);
    }));

  test("the engine says what is wrong with a weight", () =>
    on.visit("#/whatif?pool=kimi-team", { expected: /400/ }, async (page) => {
      await page.getByLabel("Weight of ci-runner").fill("-1");
      await page.getByRole("button", { name: "Try it" }).click();
      await page.getByText("The weight is not within 0 to 100").waitFor();
      await on.picture(page, "whatif-wrong");
    }));
});

describe("rejected events", () => {
  test("say what was sent, and are narrowed", () =>
    on.visit("#/rejected", {}, async (page) => {
      await heading(page, "Nothing was rejected");
      for (const requests of [1, 2]) await on.engine.post("/api/quota/events", { id: "n-1", apiKeyId: "ci-runner", connectionId: "kimi-berlin", cost: { requests } });
      await page.getByText("quota.consumption").waitFor();
      await page.locator("summary").first().click();
      await page.getByRole("heading", { name: "What was sent" }).waitFor();
      await on.picture(page, "rejected-light");
    }));
});

test.each(["decisions", "rejected"])("%s can be read in the dark and on a narrow screen", (name) =>
  on.visit(`#/${name}`, { dark: true, width: 360 }, async (page) => {
    await page.getByText("the newest first", { exact: false }).last().waitFor();
    await on.picture(page, `${name}-narrow-dark`);
  }));
