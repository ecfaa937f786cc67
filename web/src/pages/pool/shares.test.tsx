// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { KeyUse, Pool, Usage, UsedDimension } from "../../api/types";
import { newSession, SessionProvider } from "../../state/session";
import { nbsp } from "../../words/amount";
import { Allocations } from "./shares";

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
    key("eve", { allocation: "*", consumed: 14, fairShare: null, deficit: null }),
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
  act(() => render(<SessionProvider value={session}><Allocations {...props} /></SessionProvider>, root));
}

const rows = (): string[][] => [...root.querySelectorAll("tbody tr")].map((row) => [...row.children].map(text));

test("each key has its figures", () => {
  draw(dimension({}));
  expect(rows()).toEqual([
    ["annweight 60", "66.2", "50132.5 % of it used", "borrows 16.2", "Blocked: over its fair share", "2", "12", "soft", "$20.00 per day"],
    ["everyone elseweight 40", "14", "5028 % of it used", "36 left", "not known", "0", "no data", "hard", "none"],
    ["evecounts as everyone else", "14", "with everyone else", "–", "not known", "0", "no data", "hard", "none"],
  ]);
  expect(text(root)).toContain("2 more keys without a share");
});

test("what is not known is no number", () => {
  draw(dimension({ limit: null, perKey: [key("ann", { fairShare: null, deficit: null })] }));
  expect(rows()[0]?.slice(1, 4)).toEqual(["0", "limit not known", "not known"]);
  expect(text(root)).not.toMatch(/NaN|null|undefined/);
});

test("by the guarantee each key has what it is promised", () => {
  draw(dimension({ mode: "guarantee", strictAt: null, kept: 33, keptUntil: "2026-09-21T15:00:00.000Z", perKey: [key("ann", { promised: 33 }), key("eve", { allocation: "*", fairShare: null, deficit: null })] }));
  const place = [...root.querySelectorAll("thead th")].findIndex((head) => text(head).startsWith("Promised"));
  expect(rows().map((row) => row[place])).toEqual(["33", "–"]);
  draw(dimension({}));
  expect(text(root)).not.toContain("Promised");
});
