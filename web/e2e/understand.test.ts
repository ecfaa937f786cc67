import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { stage } from "./stage";
import { fill } from "./world";

const on = stage();

/** Asks as a gateway does, so that there is something to explain. */
const ask = (apiKeyId: string, connectionId: string): Promise<unknown> => on.engine.post("/api/quota/decide", { apiKeyId, connectionId, estimate: { requests: 5 } });

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { name }).waitFor();

describe("decisions", () => {
  test("a block comes into the list without a reload", () =>
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
      expect(await row.getByRole("link", { name: /Why/ }).getAttribute("href")).toMatch(/^#\/why\?decision=/);
    }));

  test("the list is narrowed, and its address says how", () =>
    on.visit("#/decisions?key=tomasz", {}, async (page) => {
      await page.getByRole("row").filter({ hasText: "tomasz" }).waitFor();
      expect(await page.getByRole("row").count()).toBe(2);
      await page.getByLabel("Reason").selectOption("suspended");
      await heading(page, "None like that");
      expect(page.url()).toContain("reason=suspended");
    }));

  test("a time of its own is asked for to the second", () =>
    on.visit("#/decisions", {}, async (page) => {
      await page.getByRole("row").filter({ hasText: "tomasz" }).waitFor();
      await page.getByLabel("Time", { exact: true }).selectOption("a time of its own");
      await page.getByLabel(/^Before, /).fill("2026-01-01T00:00:00");
      await heading(page, "None like that");
      await page.getByLabel(/^Before, /).fill("2100-01-01T00:00:00");
      await page.getByRole("row").filter({ hasText: "tomasz" }).waitFor();
      expect(page.url()).toContain("span=between&to=4102444800000");
      await on.picture(page, "decisions-between");
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

  test("are looked for by the engine, in all that is kept", async () => {
    await on.engine.publish("quota.consumption", { apiKeyId: "lena", cost: { requests: 1 } });
    await on.visit("#/rejected", {}, async (page) => {
      await page.getByText("2 events shown", { exact: false }).waitFor();
      await page.getByLabel("With the text").fill("LENA");
      await page.keyboard.press("Enter");
      await page.getByText("1 event shown, the newest first, of 2 that are kept.").waitFor();
      await page.getByText("connectionId is missing").waitFor();
      await page.getByLabel("What is wrong").selectOption("could not be read");
      await heading(page, "None like that");
      expect(page.url()).toContain("text=LENA&reason=undecodable");
    });
  });
});

test.each(["decisions", "rejected"])("%s can be read in the dark and on a narrow screen", (name) =>
  on.visit(`#/${name}`, { dark: true, width: 360 }, async (page) => {
    await page.getByText("the newest first", { exact: false }).last().waitFor();
    await on.picture(page, `${name}-narrow-dark`);
  }));
