// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { WhatIfQuestion, WhatIfReport, WhatIfSide } from "../../api/answers";
import type { Pool } from "../../api/types";
import { newSession, type Session, SessionProvider } from "../../state/session";
import { WhatIfPage } from ".";

const pool: Pool = {
  id: "team", name: "Team", provider: "kimi", mode: "enforce", rule: "threshold", reserve: 100, onDegraded: "open", connections: [{ connectionId: "kimi-1", weight: 100 }], connectionIds: ["kimi-1"],
  allocations: [{ apiKeyId: "ann", weight: 60, policy: "hard" }, { apiKeyId: "*", weight: 40, policy: "soft" }],
  modelCaps: [], createdAt: "2026-09-21T08:00:00.000Z", revision: 3, enforcing: true, warnings: [],
};

const side = (change: Partial<WhatIfSide>): WhatIfSide => ({ allowed: 8, blocked: 0, wouldBlock: 0, deprioritized: 0, served: { requests: 8, tokens: 400 }, reasons: {}, ...change });
const blocked = { before: side({}), after: side({ allowed: 7, blocked: 1, served: { requests: 7, tokens: "350.125" }, reasons: { "fair-share": 1 } }), newlyBlocked: 1, newlyAllowed: 0 };
const report: WhatIfReport = {
  from: { seq: 1, time: "2026-09-21T08:00:00.000Z" }, to: { seq: 10, time: "2026-09-21T09:00:00.000Z" },
  keys: [{ apiKeyId: "ann", ...blocked }, { apiKeyId: "bob", before: side({}), after: side({}), newlyBlocked: 0, newlyAllowed: 0 }],
  total: blocked,
  capacity: [{ poolId: "team", unit: "tokens", window: "hourly", before: { buckets: 1, limit: 1000, used: 880, unused: 120, withheld: 0, wanted: 0 }, after: { buckets: 1, limit: 1000, used: 830, unused: 170, withheld: 170, wanted: 50 } }],
  shifts: [{ unit: "tokens", more: [{ apiKeyId: "bob", before: 400, after: 425, difference: 25 }], less: [{ apiKeyId: "ann", before: 400, after: "350.125", difference: "-49.875" }] }],
  asked: { consumptions: 16, holds: 0, blocks: 1, degraded: 0, unlike: 0, waiting: { before: 0, after: 0 } }, replay: { snapshot: 0, missing: 0 }, notes: ["zoe asks for the first time"],
};

const setting = (value: number) => ({ value, source: "default", default: value }) as const;
const settings = { saturationThreshold: setting(0.5), softDeprioritizeFactor: setting(0.7), signalTtlMs: setting(30000), revision: 0 };

/** What the page reads: the plan of the connection, and the settings. */
function read(url: string): Response {
  if (url.startsWith("/api/quota/plans/")) return Response.json({ plan: { connectionId: "kimi-1", source: "catalogue", revision: 0, dimensions: [{ unit: "requests", window: "hourly", limit: 1500 }], warnings: [] } });
  return url.startsWith("/api/quota/settings") ? Response.json({ settings }) : Response.json({ error: { code: "not-found", message: url } }, { status: 404 });
}

let root: HTMLElement;
let session: Session;
let asked: WhatIfQuestion[];
let answer: () => Response;

beforeEach(() => {
  vi.useFakeTimers();
  root = document.createElement("div");
  document.body.replaceChildren(root);
  asked = [];
  answer = () => Response.json(report);
  session = newSession((url, init) => {
    if (init.method === "GET") return Promise.resolve(read(url));
    asked.push(JSON.parse(String(init.body)) as WhatIfQuestion);
    return Promise.resolve(answer());
  });
  session.store.setPools([pool]);
});
afterEach(() => {
  act(() => render(null, root));
  vi.useRealTimers();
});

const settle = (): Promise<void> => act(async () => void (await vi.advanceTimersByTimeAsync(0)));
const draw = async (query: Record<string, string> = {}): Promise<void> => {
  act(() => render(<SessionProvider value={session}><WhatIfPage id="" query={query} /></SessionProvider>, root));
  await settle();
};
const text = (): string => (root.textContent ?? "").replaceAll("\u00a0", " ");
const type = (label: string, value: string, event = "input"): void =>
  void act(() => {
    const labels = [...root.querySelectorAll("label")];
    const named = document.getElementById(labels.find((each) => each.textContent === label)?.htmlFor ?? "");
    const input = root.querySelector<HTMLInputElement>(`[aria-label='${label}']`) ?? (named as HTMLInputElement);
    input.value = value;
    input.dispatchEvent(new Event(event, { bubbles: true }));
  });
const weigh = (value: string): void => type("Weight of ann", value);
const press = (name: string): void => void act(() => [...root.querySelectorAll("button")].find((button) => button.textContent === name || button.title === name)?.click());
const submit = async (): Promise<void> => {
  act(() => void root.querySelector("form")?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })));
  await settle();
};

test("nothing is asked before somebody wants it, then the pool as it was changed", async () => {
  await draw();
  expect(asked).toEqual([]);
  weigh("20");
  expect(text()).toContain("The weights sum to 60: what lacks to 100 is nobody's share.");
  expect(text()).toContain("weight of ann: 60 → 20");
  await submit();
  expect(asked.map((question) => question.pools?.[0]?.allocations?.map((a) => a.weight))).toEqual([["20", "40"]]);
  expect(asked[0]).not.toHaveProperty("from");
});

test("both sides are shown, and only what differs", async () => {
  await draw();
  await submit();
  expect(root.querySelector("h2")?.textContent?.replaceAll("\u00a0", " ")).toBe("1 request that passed would have been blocked.");
  expect([...root.querySelectorAll("tbody tr:first-child")].map((tr) => tr.firstElementChild?.textContent)).toEqual(["bob", "ann", "Tokens per hour"]);
  expect(text()).toContain("400 →becomes 350.125");
  expect(text()).toContain("83 % of the limit");
  expect(text()).toContain("Zoe asks for the first time");
  expect(text()).toContain("Show 1 key without a difference");
});

const rowsOfTable = (label: string): (string | undefined)[][] =>
  [...root.querySelectorAll(`[aria-label='${label}'] tbody tr`)].map((tr) => [...tr.children].map((cell) => cell.textContent?.replaceAll("\u00a0", " ")));

test("who would have had more comes before who less, each with a bar beside the largest", async () => {
  await draw();
  await submit();
  expect(rowsOfTable("Who would have been served more, and who less")).toEqual([
    ["bob", "400 tokens →becomes 425 tokens", "+25 tokens"],
    ["ann", "400 tokens →becomes 350.125 tokens", "−49.875 tokens"],
  ]);
  expect([...root.querySelectorAll<HTMLElement>(".trial-shift .meter-full")].map((bar) => bar.style.width)).toEqual(["50.12%", "100.00%", "83.00%"]);
  expect(root.querySelector<HTMLElement>(".trial-shift .meter-mark")?.style.left).toBe("88.00%");
  expect(text()).toContain("What they would have asked later, had they been served, nobody knows.");
  expect(rowsOfTable("What was used of the limits, before and after")[0]?.slice(-3)).toEqual(["120 →becomes 170", "0 →becomes 170", "0 →becomes 50"]);
});

test("nobody more or less is said", async () => {
  answer = () => Response.json({ ...report, shifts: [] });
  await draw();
  await submit();
  expect(text()).toContain("Nobody would have been served more or less.");
});

test("the other way of sharing is tried alone, with its reserve", async () => {
  await draw();
  expect(root.textContent).not.toContain("Reserve");
  type("How it shares", "guarantee", "change");
  type("Reserve", "50");
  expect(text()).toContain("how it shares: by threshold → by guarantee");
  expect(text()).toContain("the reserve: 100 % → 50 %");
  await submit();
  expect(asked).toEqual([{ rules: [{ poolId: "team", rule: "guarantee", reserve: "50" }] }]);
});

test("what the engine says of a reserve stands at it", async () => {
  answer = () => Response.json({ error: { code: "invalid", message: "all in one", faults: [{ field: "rules[0].reserve", problem: "is not within 0 to 400" }] } }, { status: 400 });
  await draw();
  type("How it shares", "guarantee", "change");
  type("Reserve", "500");
  await submit();
  expect([...root.querySelectorAll(".field-problem")].map((shown) => shown.textContent).filter(Boolean)).toEqual(["is not within 0 to 400"]);
});

test("figures of all pools are said to be of all", async () => {
  await draw();
  await submit();
  expect(text()).not.toContain("pools together");
  act(() => session.store.setPools([pool, { ...pool, id: "other", name: "Other" }]));
  expect(text()).toContain("Counted over all 2 pools together, here and key by key. Of this pool alone are its limits below.");
});

test("an outcome of other rules than those above is said to be one", async () => {
  await draw();
  await submit();
  expect(text()).not.toContain("The rules above were changed since");
  weigh("61");
  expect(text()).toContain("The rules above were changed since");
});

test("what the engine says of a weight stands at that weight", async () => {
  const faults = [{ field: "pools[0].allocations[0].weight", problem: "is not within 0 to 100" }];
  answer = () => Response.json({ error: { code: "invalid", message: "all in one", faults } }, { status: 400 });
  await draw();
  weigh("-1");
  await submit();
  expect(root.querySelector(".trial-row .field-problem")?.textContent).toBe("The weight is not within 0 to 100");
  expect(root.querySelector("[aria-label='Weight of ann']")?.getAttribute("aria-invalid")).toBe("true");
});

test("a change by somebody else is said, and taken when wanted", async () => {
  await draw();
  act(() => session.store.setPools([{ ...pool, revision: 4, allocations: [{ apiKeyId: "ann", weight: 10, policy: "hard" }] }]));
  expect(text()).toContain("The pool was changed meanwhile");
  const take = [...root.querySelectorAll("button")].find((button) => button.textContent === "Take the new rules");
  act(() => take?.click());
  expect(root.querySelector<HTMLInputElement>("[aria-label='Weight of ann']")?.value).toBe("10");
});

test("limits and settings are tried beside the weights", async () => {
  await draw();
  type("Limit of Requests per hour of kimi-1", "2,000");
  type("When shares begin to count", "80 %");
  expect(text()).toContain("Tried: 80 % of the limit.");
  expect(text()).toContain("requests per hour of kimi-1: 1,500 requests → 2,000 requests");
  expect(text()).toContain("when shares begin to count: 0.5 → 0.8");
  await submit();
  expect(asked).toEqual([{ plans: [{ connectionId: "kimi-1", dimensions: [{ unit: "requests", window: "hourly", limit: "2000" }] }], settings: { saturationThreshold: "0.8" } }]);
});

test("a limit can come and go", async () => {
  await draw();
  press("Add a limit to kimi-1");
  type("What is limited on kimi-1", "usd", "change");
  type("Per which time on kimi-1", "daily", "change");
  type("Limit of US dollars per day of kimi-1", "20");
  press("Without Requests per hour of kimi-1");
  await submit();
  expect(asked[0]?.plans).toEqual([{ connectionId: "kimi-1", dimensions: [{ unit: "usd", window: "daily", limit: "20" }] }]);
});

test("what the engine says of a limit and of a setting stands at them", async () => {
  const faults = [{ field: "plans[0].dimensions[0].limit", problem: "is negative" }, { field: "settings.saturationThreshold", problem: "is not within 0 to 1" }];
  answer = () => Response.json({ error: { code: "invalid", message: "all in one", faults } }, { status: 400 });
  await draw();
  type("Limit of Requests per hour of kimi-1", "-1");
  type("When shares begin to count", "7");
  await submit();
  expect([...root.querySelectorAll(".trial-more[open] .field-problem")].map((shown) => shown.textContent).filter(Boolean)).toEqual(["The limit is negative", "is not within 0 to 1"]);
});

test("the history without the pool is asked for by its id alone", async () => {
  await draw();
  type("The pool", "gone", "change");
  expect(text()).toContain("Team: is there → is gone");
  expect(root.querySelector("[aria-label='Weight of ann']")).toBeNull();
  await submit();
  expect(asked).toEqual([{ withoutPools: ["team"] }]);
  press("Undo changes");
  expect(root.querySelector("[aria-label='Weight of ann']")).not.toBeNull();
});

test("weights can be tried where plans and settings cannot be read", async () => {
  session = newSession((_, init) => Promise.resolve(init.method === "GET" ? Response.json({ error: { code: "unauthorized", message: "no" } }, { status: 401 }) : answer()));
  session.store.setPools([pool]);
  await draw();
  expect(text()).toContain("The weights sum to 100.");
  expect(text()).not.toContain("Other limits");
  expect(text()).not.toContain("Other settings");
});

test("reasons of both sides are told", async () => {
  await draw();
  await submit();
  expect(text()).toContain("over its fair share 0 →becomes 1");
});

test("a limit that is gone after is said so, and one that nobody knows too", async () => {
  const none = { buckets: 0, limit: 0, used: 0, unused: 0, withheld: 0, wanted: 0 };
  const known = { buckets: 1, limit: 1000, used: 880, unused: 120, withheld: 100, wanted: 7 };
  answer = () => Response.json({ ...report, capacity: [{ poolId: "team", unit: "tokens", window: "hourly", before: known, after: none }, { poolId: "team", unit: "usd", window: "daily", before: none, after: none }, { poolId: "other", unit: "usd", window: "daily", before: known, after: known }] });
  await draw();
  await submit();
  const rows = [...root.querySelectorAll("[aria-label='What was used of the limits, before and after'] tbody tr")].map((tr) => [...tr.children].map((cell) => cell.textContent?.replaceAll("\u00a0", " ")));
  expect(rows).toEqual([
    ["Tokens per hour", "1 →becomes 0", "1,000 tokens →becomes no limit", "880 →becomes not compared", "", "120 →becomes not compared", "100 →becomes not compared", "7 →becomes not compared"],
    ["US dollars per day", "0", "limit not known", "", "", "", "", ""],
  ]);
});
