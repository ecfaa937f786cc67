import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import type { Explanation, Reply } from "../src/api/answers";
import { parseJson } from "../src/api/json";
import { exactAmount, exactly } from "../src/words/amount";
import { stage } from "./stage";
import { fill } from "./world";

const on = stage();

const hour = 3_600_000;

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { name }).waitFor();

/** What can be read on the page, with plain spaces. */
const text = async (page: Page): Promise<string> => (await page.locator("main").innerText()).replaceAll("\u00a0", " ");

/** What the API says to the same question. */
async function explained(query: string): Promise<Explanation> {
  const answer = await fetch(`${on.engine.url}/api/quota/explain?${query}`);
  return parseJson(await answer.text()) as Explanation;
}

/** An hour ago somebody used the account too: that counts in part. */
const before = Date.now() - (Date.now() % hour) - 5 * 60_000;

beforeAll(async () => {
  await fill(on.engine);
  await on.engine.post("/api/quota/events", [
    { apiKeyId: "ci-runner", connectionId: "kimi-lisbon", time: before, model: "k2", requestId: "nightly-4711", cost: { requests: 40 } },
    { type: "quota.adjustment", apiKeyId: "ci-runner", connectionId: "kimi-berlin", reason: "answered twice", cost: { requests: -4 } },
  ]);
  await on.engine.settled();
});

describe("a key that is blocked", () => {
  test("is asked for as gateways ask, and its why has every figure of the engine", () =>
    on.visit("#/decisions", {}, async (page) => {
      await heading(page, "Nothing was blocked");
      await on.engine.publish("quota.consumption", { apiKeyId: "ci-runner", connectionId: "kimi-berlin", cost: { requests: 1 } });
      await on.engine.settled();
      const reply = (await on.engine.post("/api/quota/decide", { apiKeyId: "ci-runner", connectionId: "kimi-berlin", estimate: { requests: 5 } })) as Reply;
      expect(reply).toMatchObject({ decision: "block", reason: "fair-share" });
      await page.getByRole("row").filter({ hasText: "ci-runner" }).getByRole("link", { name: /Why/ }).click();
      await heading(page, "ci-runner was blocked on kimi-berlin, for 5 requests");
      const e = await explained(`decisionId=${reply.decisionId}`);
      const d = e.reply.dimensions?.[0];
      const line = e.consumption[0];
      if (!d || !line) throw new Error("the engine explains nothing");
      const said = await text(page);
      for (const figure of [
        `${exactly(d.consumedTotal, "requests")} used + 5 asked for = `, "1,500 of kimi-berlin + 1,500 of kimi-lisbon = 3,000 requests",
        "3,000 × 20 ÷ 100 = 600 requests", `${exactly(d.consumed, "requests")} used, share 600 requests`, `No: ${exactly(d.deficit, "requests")} requests over.`,
        "shares count from 50 % on, 1,500 requests", `${line.events} events found, which together count ${exactAmount(line.found, "requests").replaceAll("\u00a0", " ")}`,
        reply.message ?? "no message", "and the same answer comes out of the log again", "correction: answered twice",
      ]) expect(said).toContain(figure);
      for (const event of line.top) {
        const row = await page.getByRole("row").filter({ hasText: `${event.seq}, ${event.index}` }).innerText();
        expect(row.split("\t").map((cell) => cell.trim())).toEqual(expect.arrayContaining([exactly(event.cost, "requests"), exactly(event.weight, "requests")]));
      }
      expect(said).toMatch(/are still within it, so [\d.]+ % of it counts/);
      await on.picture(page, "why-light");
    }));

  test("is found by the id that its caller was told", async () => {
    const reply = (await on.engine.post("/api/quota/decide", { apiKeyId: "tomasz", connectionId: "codex-pro" })) as Reply;
    await on.visit("#/why", { dark: true }, async (page) => {
      await page.getByLabel("or the id of a decision").fill(reply.decisionId);
      await page.keyboard.press("Enter");
      await heading(page, "tomasz was blocked on codex-pro");
      expect(await page.getByLabel("Key", { exact: true }).inputValue()).toBe("tomasz");
      await page.getByText("51.428571 used, share 50 points").waitFor();
      await on.picture(page, "why-percent-dark");
    });
  });

  test("whose id nobody knows is said so", () =>
    on.visit("#/why?decision=nobody-1", { expected: /404/ }, async (page) => {
      await page.getByText("no decision \"nobody-1\" is recorded", { exact: false }).waitFor();
      await on.picture(page, "why-unknown");
    }));
});

test("a pool can be asked, for a request of a certain size", () =>
  on.visit("#/why?key=search-service", { expected: /400/ }, async (page) => {
    await page.getByLabel("or a whole pool").selectOption("Kimi for the team");
    await heading(page, "search-service would be allowed in the pool Kimi for the team");
    await page.getByText("Allowed on: kimi-berlin, kimi-lisbon.").waitFor();
    await page.getByText("For a request of a certain size").click();
    await page.getByLabel("Requests", { exact: true }).fill("2000");
    await page.keyboard.press("Enter");
    await heading(page, "search-service would be blocked in the pool Kimi for the team, for 2,000 requests");
    await page.getByText("No: the request does not fit into what is left.").waitFor();
    expect(page.url()).toContain("pool=kimi-team&requests=2000");
    await page.getByLabel("Requests", { exact: true }).fill("many");
    await page.keyboard.press("Enter");
    await page.getByText("estimate.requests", { exact: false }).first().waitFor();
    await page.getByLabel("Requests", { exact: true }).fill("");
    await page.keyboard.press("Enter");
    await heading(page, "search-service would be allowed in the pool Kimi for the team");
    await on.picture(page, "why-pool");
  }));

describe("the slider", () => {
  test("is moved with the keyboard, from where the history begins until now", () =>
    on.visit("#/why?key=ci-runner&connection=kimi-berlin", {}, async (page) => {
      await heading(page, "ci-runner would be blocked on kimi-berlin");
      const slider = page.getByRole("slider", { name: "Moment on the slider" });
      await slider.focus();
      await page.keyboard.press("Home");
      await page.waitForURL(/at=\d+/);
      const state = (await (await fetch(`${on.engine.url}/api/quota/state`)).json()) as { replayFrom: string };
      expect(Number(await slider.inputValue())).toBe(Date.parse(state.replayFrom));
      await heading(page, "ci-runner would be allowed on kimi-berlin");
      await page.getByText("0 used, of 3,000 requests").waitFor();
      await on.picture(page, "why-beginning");
      await slider.focus();
      await page.keyboard.press("End");
      await heading(page, "ci-runner would be blocked on kimi-berlin");
    }));

  test("has a field beside it, which says what the history does not have", () =>
    on.visit("#/why?key=ci-runner&connection=kimi-berlin", {}, async (page) => {
      await heading(page, "ci-runner would be blocked on kimi-berlin");
      const field = page.getByLabel(/^Moment, /);
      await field.fill("2020-01-01T00:00:00");
      await page.getByText("The history does not reach back so far.").waitFor();
      expect(await field.getAttribute("aria-invalid")).toBe("true");
      expect(page.url()).not.toContain("at=");
      await page.getByRole("button", { name: "Now" }).click();
      await page.waitForURL(/at=\d+/);
      await heading(page, "ci-runner would be blocked on kimi-berlin");
      expect(await field.getAttribute("aria-invalid")).toBe("false");
    }));

  test("leads an address from before the history to its beginning", () =>
    on.visit("#/why?key=ci-runner&connection=kimi-berlin&at=1577836800000", { dark: true, width: 360 }, async (page) => {
      await page.getByText("The history does not reach back so far", { exact: true }).waitFor();
      await on.picture(page, "why-too-old-narrow");
      await page.getByRole("button", { name: "Go to the beginning" }).click();
      await heading(page, "ci-runner would be allowed on kimi-berlin");
    }));
});

test("what a pool observes is said as what it would have done", () =>
  on.visit("#/why?key=quarterly-report-builder&connection=openai-reports", { width: 360 }, async (page) => {
    await heading(page, "quarterly-report-builder would have been blocked on openai-reports");
    await page.getByText("$23.481 used, cap $20.00").waitFor();
    await page.getByText("Nightly reports observes").waitFor();
    await on.picture(page, "why-cap-narrow");
  }));

test("without a key the last answers are shown", () =>
  on.visit("#/why", { dark: true }, async (page) => {
    await heading(page, "Answered last");
    await on.picture(page, "why-empty-dark");
  }));
