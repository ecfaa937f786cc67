// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { KeyUse, Pool, Usage, UsedDimension } from "../../api/types";
import { newSession, SessionProvider } from "../../state/session";
import { nbsp } from "../../words/amount";
import { Allocations, Borrowers } from "./shares";

let root: HTMLElement;

beforeEach(() => {
  root = document.createElement("div");
  document.body.replaceChildren(root);
});
afterEach(() => act(() => render(null, root)));

const text = (of: Element): string => (of.textContent ?? "").replaceAll(nbsp, " ");

const key = (apiKeyId: string, change: Partial<KeyUse>): KeyUse =>
  ({ apiKeyId, allocation: apiKeyId, consumed: 0, held: 0, fairShare: 50, deficit: -50, borrowing: false, remaining: 0, burnRate: { perSecond: 0 }, ...change });

const pool = {
  id: "team", connectionIds: ["a"], modelCaps: [],
  allocations: [{ apiKeyId: "ann", weight: 60, policy: "soft", caps: [{ unit: "usd", window: "daily", value: 20 }] }, { apiKeyId: "*", weight: 40, policy: "hard" }],
} as unknown as Pool;

const dimension = (change: Partial<UsedDimension>): UsedDimension => ({
  unit: "requests", window: "hourly", limit: 100, consumedTotal: 80, heldTotal: 2, usedPercent: 80, mode: "strict", strictAt: 50, unlisted: 14,
  perConnection: [], burnRate: { perSecond: 0, timeToExhaustionMs: null },
  perKey: [
    key("ann", { consumed: "66.25", held: 2, deficit: "16.25", borrowing: true, burnRate: { perSecond: 0.2 } }),
    key("*", { consumed: 14, deficit: -36 }),
    key("eve", { allocation: "*", consumed: 14, deficit: -36 }),
  ],
  ...change,
});

const usage = {
  unlistedKeys: 3,
  keys: [{ apiKeyId: "ann", allocation: "ann", decision: "block", reason: "fair-share", deprioritize: false, retryAt: null }],
} as unknown as Usage;

function draw(d: UsedDimension): void {
  const props = { pool, usage, dimension: d, hues: new Map([["ann", 0]]) };
  const session = newSession(() => Promise.reject(new Error("nobody asks")));
  act(() => render(<SessionProvider value={session}><Allocations {...props} /><Borrowers {...props} /></SessionProvider>, root));
}

const rows = (): string[][] => [...root.querySelectorAll("tbody tr")].map((row) => [...row.children].map(text));

test("each key has its figures", () => {
  draw(dimension({}));
  expect(rows()).toEqual([
    ["annweight 60", "66.2", "50", "borrows 16.2 requests", "2", "12 requests per minute", "soft", "$20.00 per day", "Blocked: over its fair share"],
    ["everyone elseweight 40", "14", "50", "36 requests left", "0", "no data", "hard", "none", "not known"],
    ["evecounts as everyone else", "14", "50", "36 requests left", "0", "no data", "hard", "none", "not known"],
  ]);
  expect(text(root)).toContain("2 more keys without a share");
});

test("who borrows is named, and who lends, everyone else once", () => {
  draw(dimension({}));
  expect([...root.querySelectorAll(".borrowing li")].map(text)).toEqual([
    "borrows ann 16.2 requests above its share of 50 requests",
    "lends everyone else 36 requests of its share not used",
  ]);
});

test("what is not known is no number", () => {
  draw(dimension({ limit: null, perKey: [key("ann", { fairShare: null, deficit: null })] }));
  expect(rows()[0]?.slice(1, 4)).toEqual(["0", "limit not known", "not known"]);
  expect(text(root)).toContain("Nobody has more than its share of requests per hour.");
  expect(text(root)).not.toMatch(/NaN|null|undefined/);
});
