// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Amounts, History, KeyUse, Pool, Usage, UsedDimension } from "../../api/types";
import { newSession, SessionProvider } from "../../state/session";
import { nbsp } from "../../words/amount";
import { BurnRate } from "./burn";
import { totalId } from "./lines";

// A canvas is no part of what is tested here: the figures beside it are.
vi.mock("uplot", () => ({ default: class { static paths = {}; setData() {} destroy() {} setSize() {} } }));

let root: HTMLElement;
const now = Date.parse("2026-09-21T14:00:00Z");

beforeEach(() => {
  vi.stubGlobal("ResizeObserver", class { observe() {} disconnect() {} });
  root = document.createElement("div");
  document.body.replaceChildren(root);
});
afterEach(() => act(() => render(null, root)));

const amounts = (tokens: number): Amounts => ({ requests: tokens / 1000, tokens, usd: 0, percent: 0 });

/** A key may have any name, also that of a thing on the page. */
const history: History = {
  poolId: "team", from: "", to: "", stepMs: 60_000,
  rows: [1, 2, 3].map((n) => ({
    time: new Date(now - (4 - n) * 60_000).toISOString(), total: amounts(5000 * n), unlisted: amounts(1000 * n),
    perKey: [{ apiKeyId: "total", ...amounts(4000 * n) }],
  })),
};

const pool = { id: "team", revision: 1, connectionIds: ["a"], allocations: [{ apiKeyId: "total", weight: 100, policy: "soft" }] } as unknown as Pool;
const dimension = (change: Partial<UsedDimension>): UsedDimension => ({
  unit: "requests", window: "hourly", limit: 100, consumedTotal: 30, heldTotal: 0, usedPercent: 30, mode: "generous", strictAt: 50, unlisted: 6, perConnection: [],
  burnRate: { perSecond: "0.1", timeToExhaustionMs: 700_000 }, perKey: [{ apiKeyId: "total", burnRate: { perSecond: "0.2" } } as KeyUse], ...change,
});
const usage = { poolId: "team", generatedAt: "", asOf: { time: new Date(now).toISOString() }, signals: [], dimensions: [], burnRate: { tokensPerSecond: 50, timeToExhaustionMs: null } } as unknown as Usage;

async function draw(d: UsedDimension, told: History = history): Promise<void> {
  const session = newSession(() => Promise.resolve(new Response(JSON.stringify({ history: told }), { headers: { "Content-Type": "application/json" } })));
  session.store.now.value = now;
  const props = { pool, usage, dimension: d, hues: new Map([["total", 0]]) };
  act(() => render(<SessionProvider value={session}><BurnRate {...props} /></SessionProvider>, root));
  await vi.waitFor(() => expect(root.querySelector("div.chart-place")).toBeNull()); // the history has come
}

const text = (of: Element | null | undefined): string => (of?.textContent ?? "").replaceAll(nbsp, " ");
const charts = (): string[][] => [...root.querySelectorAll(".chart")].map((chart) => [text(chart.querySelector(".chart-title")), ...[...chart.querySelectorAll(".chart-readings li")].map(text)]);

test("rates are the engine's, by the minute", async () => {
  await draw(dimension({}));
  expect(charts()[0]).toEqual(["Moving average now, requests per minute", "All together6", "total12", "Keys without a share of their ownno rate is told"]);
  expect(text(root.querySelector(".burn-said"))).toContain("Now 6 requests per minute. If everybody goes on like this, it is used up in 11 min 40 s");
  expect(charts()[1]?.slice(1)).toEqual(["Used now30 requests", "Then, when it is used up100 requests", "The limit100 requests"]);
});

test("of points, tokens are told", async () => {
  await draw(dimension({ unit: "percent", burnRate: { perSecond: 0, timeToExhaustionMs: null } }));
  expect(charts()[0]).toEqual(["Used in this hour", "All together30,000 tokens", "total24,000 tokens", "Keys without a share of their own6,000 tokens"]);
  expect(text(root)).toContain("No data: the provider has not told of this window.");
});

test("of less than two minutes with use there is no data", async () => {
  await draw(dimension({ burnRate: { perSecond: 0, timeToExhaustionMs: null } }), { ...history, rows: history.rows.slice(0, 1) });
  expect(charts()).toEqual([]);
  expect(text(root)).toContain("No data: an average takes two minutes with use in the last hour.");
});

test("no key has the id of all together: the engine takes no empty one", () => expect(totalId).toBe(""));
