import { beforeAll, describe, expect, test } from "vitest";
import { jumps, live, watchJumps } from "./browser";
import { cutOff } from "./cut";
import { type Shot, shots } from "./pages";
import { stage } from "./stage";
import { tell } from "./story";
import { fill } from "./world";

const on = stage();

/** Nothing that changes who is blocked or above a share: who is new in a list of those makes room for himself. */
const uses = [
  ["nina-laptop", "kimi-berlin", { requests: 1, tokens: 9_400 }],
  ["search-service", "kimi-lisbon", { requests: 20, tokens: 120 }],
  ["translation-batch", "kimi-night", { requests: 0, tokens: 1 }],
  ["summaries", "openai-reports", { usd: 0.003, tokens: 1 }],
  ["amelie", "glm-trial", { tokens: 1_000_000 }],
] as const;

/** What the keys of one pool have used together. */
async function used(): Promise<number> {
  const answer = (await (await fetch(`${on.engine.url}/api/quota/pools/kimi-team/usage`)).json()) as { usage: { dimensions: { consumedTotal: number }[] } };
  return answer.usage.dimensions[0]?.consumedTotal ?? NaN;
}

/** Publishes as gateways do, and waits each time until the page shows it. */
async function stream(counted: (requests: number) => Promise<void>): Promise<void> {
  for (let round = 1; round <= 4; round++) {
    for (const [apiKeyId, connectionId, cost] of uses) await on.engine.publish("quota.consumption", { apiKeyId, connectionId, cost });
    await counted(round * 21);
  }
}

describe("while events stream", () => {
  beforeAll(() => fill(on.engine));

  test.each([
    ["the pools", "", 1280],
    ["the pools", "", 360],
    ["a pool", "#/pools/kimi-team", 1280],
    ["a pool", "#/pools/kimi-team", 360],
  ])("nothing moves on the page of %s (%s, %i wide)", (_, address, width) =>
    on.visit(address, { width }, async (page) => {
      await live(page);
      const shows = (total: number): Promise<void> => page.locator("main").getByText(`${total.toLocaleString("en")} of 3,000`).first().waitFor();
      const before = await used();
      await shows(before);
      await page.locator(address === "" ? "article" : "canvas").last().waitFor();
      await watchJumps(page);
      await stream((more) => shows(before + more));
      expect(await jumps(page)).toEqual([]);
    }));
});

/** Every page once, and more that have long rows. */
const all: Record<string, Shot> = {
  ...shots,
  "all plans": { address: "#/plans", ready: (page) => page.getByRole("cell", { name: "from the provider's catalogue" }).first().waitFor() },
  "keys of two providers": { address: "#/pools/codex-backend", ready: (page) => page.getByRole("row").filter({ hasText: "nightly-ci" }).first().waitFor() },
  "caps in dollars": { address: "#/pools/openai-reports", ready: (page) => page.getByRole("row").filter({ hasText: "quarterly-reports" }).first().waitFor() },
};

describe("of a team's days", () => {
  const told = stage();
  beforeAll(() => tell(told.engine));

  // Those that begin elsewhere on a page are of pages that are here.
  test.each(Object.entries(all).filter(([, { from }]) => !from))("nothing is cut off: %s", (_, { address, ready }) =>
    told.visit(address, { width: 1280 }, async (page) => {
      await ready(page);
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 900 });
        await page.evaluate(() => new Promise(requestAnimationFrame));
        expect(await cutOff(page), `${width} wide`).toEqual([]);
      }
    }));
});
