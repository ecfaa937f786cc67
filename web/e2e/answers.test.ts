import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import type { Reply } from "../src/api/answers";
import type { Usage, UsedDimension } from "../src/api/types";
import { moment } from "../src/words/time";
import { live } from "./browser";
import { read } from "./reading";
import { stage } from "./stage";

/** The answers above all pools are what the API says, and not something kinder. */
const on = stage();

const minute = 60_000;

/** Half of it each; the policies are hard. */
const half = (...keys: string[]) => keys.map((apiKeyId) => ({ apiKeyId, weight: 50, policy: "hard" }));

const pool = (id: string, name: string, more: object) => ({ id, name, provider: "openai", connectionIds: [`${id}-1`], ...more });

const pools = [
  pool("burst", "One burst", { allocations: half("batch", "slow") }),
  pool("two", "Two limits", { allocations: half("ana", "ben") }),
  pool("watched", "Watched", { mode: "observe", allocations: half("ana", "ben") }),
  pool("capped", "Capped", { allocations: half("gus", "ida"), modelCaps: [{ apiKeyId: "gus", model: "glm-4", capUnit: "tokens", capValue: 100 }] }),
  pool("points", "Points", { allocations: half("ida", "kim") }),
];

const both = [{ unit: "tokens", window: "monthly", limit: 1000 }, { unit: "usd", window: "monthly", limit: 100 }];

const limits: Record<string, object[]> = {
  burst: [{ unit: "tokens", window: "monthly", limit: 100_000_000 }],
  two: both,
  watched: both,
  capped: [{ unit: "tokens", window: "monthly", limit: 1000 }],
  points: [{ unit: "percent", window: "5h", limit: 100 }],
};

const used = (apiKeyId: string, connectionId: string, cost: object, more: object = {}) => ({ apiKeyId, connectionId, cost, ...more });

/** Nearly all at once, and since then a little in every minute. */
const burst = (now: number) => [
  used("batch", "burst-1", { tokens: 99_900_000 }, { time: now - 90 * minute }),
  ...Array.from({ length: 8 }, (_, i) => used("slow", "burst-1", { tokens: 1000 }, { time: now - (8 - i) * minute })),
];

const reading = (connectionId: string, usedPercent: number) => ({
  type: "quota.saturation", connectionId, readings: [{ window: "5h", usedPercent, resetAt: new Date(Date.now() + 150 * minute).toISOString() }],
});

/** Each key has an account of its own, and one of them has nothing left. */
async function spend(): Promise<void> {
  const connectionIds = ["accounts-1", "accounts-2"];
  await on.engine.post("/api/quota/pools", { id: "accounts", name: "Two accounts", provider: "claude", connectionIds, allocations: half("eva", "fay") });
  await on.engine.post("/api/quota/events", [...connectionIds.map((id) => reading(id, 0)), used("eva", "accounts-1", { tokens: 1000 }), used("fay", "accounts-2", { tokens: 1000 })]);
  await on.engine.post("/api/quota/events", [reading("accounts-1", 132.5), reading("accounts-2", 33)]);
}

/** Tokens are nearer to their limit, and nobody is above its share of them; of dollars ana is. */
const unfair = (id: string) => [used("ana", `${id}-1`, { tokens: 440, usd: 60 }), used("ben", `${id}-1`, { tokens: 480, usd: 1 })];

const usage = async (id: string): Promise<Usage> => (await read<{ usage: Usage }>(on, `pools/${id}/usage`)).usage;

const preview = (apiKeyId: string, of: string, model = "gpt-5"): Promise<Reply> => read<Reply>(on, `preview?apiKeyId=${apiKeyId}&pool=${of}&model=${model}`);

/** What stands under a question, with the spaces of one's own keyboard. */
async function answer(page: Page, question: string): Promise<string> {
  const text = await page.getByRole("region", { name: question, exact: true }).innerText();
  return text.replace(/\s+/g, " ");
}

const open = async (page: Page, name: string): Promise<void> => {
  await page.getByRole("heading", { level: 1, name }).waitFor();
  await live(page);
  await page.getByRole("region", { name: "Will it last?" }).waitFor();
};

/** As the page says it: behind midnight it is tomorrow's. */
const clock = (at: number): string => moment(at, Date.now());

/** The instant at which the API's rate has used up what is left. */
async function end(id: string): Promise<number> {
  const { dimensions: [d], asOf } = await usage(id);
  return Date.parse(asOf.time) + (d?.burnRate.timeToExhaustionMs ?? 0);
}

describe("the answers are the API's", () => {
  beforeAll(async () => {
    for (const [id, dimensions] of Object.entries(limits)) await on.engine.send("PUT", `/api/quota/plans/${id}-1`, { dimensions });
    await on.engine.post("/api/quota/pools", pools);
    await on.engine.post("/api/quota/events", [
      ...burst(Date.now()), ...unfair("two"), ...unfair("watched"),
      used("gus", "capped-1", { tokens: 150 }, { model: "glm-4" }), used("ida", "points-1", { percent: "105.75" }),
    ]);
    await spend();
    await on.engine.settled();
  });

  test("a rate that comes to less than the limit is no promise while a burst counts", () =>
    on.visit("#/pools/burst", {}, async (page) => {
      await open(page, "One burst");
      const { dimensions: [d] } = await usage("burst");
      expect(Number(d?.burnRate.perSecond) * 30 * 24 * 3600).toBeLessThan(100_000_000);
      // The engine moves on by the minute, and so does the page.
      await expect.poll(async () => (await answer(page, "Will it last?")).includes(`Perhaps not: 1 limit may run out at this rate. Tokens per 30 days: at ${clock(await end("burst"))} at the earliest.`), { timeout: 10_000 }).toBe(true);
      await on.picture(page, "answers-burst");
    }));

  test("who is above its share of any limit is told, also where another is nearer to its end", () =>
    on.visit("#/pools/two", {}, async (page) => {
      await open(page, "Two limits");
      const { dimensions } = await usage("two");
      const [tokens, dollars] = dimensions as [UsedDimension, UsedDimension];
      expect([tokens, dollars].map((d) => [d.mode, d.perKey.filter((key) => key.borrowing).map((key) => [key.apiKeyId, Number(key.deficit)])])).toEqual([["strict", []], ["strict", [["ana", 10]]]]);
      expect(Number(tokens.usedPercent)).toBeGreaterThan(Number(dollars.usedPercent));
      expect(await answer(page, "Is it fair?")).toBe("Is it fair? ! Not quite: 1 key is above its share. Shares count there now. ana borrows $10.00.");
      expect((await preview("ana", "two")).reason).toBe("fair-share");
      expect(await answer(page, "Who is blocked now?")).toContain("1 key blocked. ana blocked");
    }));

  test("where a pool only observes, shares do not count", () =>
    on.visit("#/pools/watched", {}, async (page) => {
      await open(page, "Watched");
      expect(await preview("ana", "watched")).toMatchObject({ decision: "allow", wouldBlock: true });
      expect(await answer(page, "Is it fair?")).toContain("Not quite: 1 key is above its share. Shares would count there now, but nobody is blocked where a pool only observes.");
    }));

  test("a key at its cap for a model is blocked for that model", () =>
    on.visit("#/pools/capped", {}, async (page) => {
      await open(page, "Capped");
      expect(await preview("gus", "capped", "glm-4")).toMatchObject({ decision: "block", reason: "model-cap" });
      expect((await usage("capped")).keys.map((key) => key.decision)).toEqual(["allow", "allow"]);
      await page.getByText("1 key blocked.").waitFor();
      expect(await answer(page, "Who is blocked now?")).toMatch(/gus blocked for glm-4 until .* cap that was set for this model alone: tokens per hour with glm-4\./);
      await on.picture(page, "answers-capped");
    }));

  test("where one account has nothing left and the other has, it is that which is named", () =>
    on.visit("#/pools/accounts", {}, async (page) => {
      await open(page, "Two accounts");
      const { keys, dimensions } = await usage("accounts");
      expect(keys.map((key) => [key.apiKeyId, key.decision, key.reason])).toEqual([["eva", "block", "global-saturated"], ["fay", "allow", "ok"]]);
      expect(Number(dimensions[0]?.usedPercent)).toBeLessThan(100);
      const said = await answer(page, "Who is blocked now?");
      expect(said).toMatch(/1 key blocked\. eva blocked until .* Nothing is left of the provider's 5-hour window of accounts-1, for all keys together\.$/);
    }));

  test("points that no provider tells of are used up as all else, and said to be on the page of all pools", () =>
    on.visit("", {}, async (page) => {
      await open(page, "Pools");
      const full = (await Promise.all(pools.map(({ id }) => usage(id)))).flatMap(({ dimensions }) => dimensions).filter((d) => Number(d.usedPercent) >= 100);
      expect(full.map((d) => d.unit)).toEqual(["percent"]);
      const told = await answer(page, "Will it last?");
      expect(told).toContain("No: 2 limits are used up. 1 limit may run out at this rate.");
      expect(told).toContain("Points, the provider's 5-hour window Used up");
      expect((await preview("kim", "points")).reason).toBe("global-saturated");
      expect((await usage("points")).dimensions[0]?.perKey.map((key) => [key.apiKeyId, Number(key.deficit)])).toEqual([["ida", 55.75], ["kim", -50]]);
      expect(await answer(page, "Is it fair?")).toContain("No: 1 key is blocked below its share. Shares count there now. kim blocked at 0 % of its share");
      await on.picture(page, "answers-all");
    }));
});
