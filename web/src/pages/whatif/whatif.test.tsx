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
  capacity: [{ poolId: "team", unit: "tokens", window: "hourly", before: { buckets: 1, limit: 1000, used: 880, unused: 120 }, after: { buckets: 1, limit: 1000, used: 830, unused: 170 } }],
  asked: { consumptions: 16, holds: 0, blocks: 1, degraded: 0, unlike: 0, waiting: { before: 0, after: 0 } }, replay: { snapshot: 0, missing: 0 }, notes: ["zoe asks for the first time"],
};

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
  session = newSession((_, init) => {
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
const draw = (query: Record<string, string> = {}): void => void act(() => render(<SessionProvider value={session}><WhatIfPage id="" query={query} /></SessionProvider>, root));
const text = (): string => (root.textContent ?? "").replaceAll("\u00a0", " ");
const weigh = (value: string): void =>
  void act(() => {
    const input = root.querySelector<HTMLInputElement>("[aria-label='Weight of ann']")!;
    input.value = value;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
const submit = async (): Promise<void> => {
  act(() => void root.querySelector("form")?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })));
  await settle();
};

test("nothing is asked before somebody wants it, then the pool as it was changed", async () => {
  draw();
  expect(asked).toEqual([]);
  weigh("20");
  expect(text()).toContain("The weights sum to 60: what lacks to 100 is nobody's share.");
  expect(text()).toContain("weight of ann: 60 → 20");
  await submit();
  expect(asked.map((question) => question.pools?.[0]?.allocations?.map((a) => a.weight))).toEqual([["20", "40"]]);
  expect(asked[0]).not.toHaveProperty("from");
});

test("both sides are shown, and only what differs", async () => {
  draw();
  await submit();
  expect(root.querySelector("h2")?.textContent?.replaceAll("\u00a0", " ")).toBe("1 request that passed would have been blocked.");
  expect([...root.querySelectorAll("tbody tr:first-child")].map((tr) => tr.firstElementChild?.textContent)).toEqual(["ann", "Tokens per hour"]);
  expect(text()).toContain("400 →becomes 350.125");
  expect(text()).toContain("83 % of the limit");
  expect(text()).toContain("Zoe asks for the first time");
  expect(text()).toContain("Show 1 key without a difference");
});

test("an outcome of other rules than those above is said to be one", async () => {
  draw();
  await submit();
  expect(text()).not.toContain("The rules above were changed since");
  weigh("61");
  expect(text()).toContain("The rules above were changed since");
});

test("what the engine says of a weight stands at that weight", async () => {
  const faults = [{ field: "pools[0].allocations[0].weight", problem: "is not within 0 to 100" }];
  answer = () => Response.json({ error: { code: "invalid", message: "all in one", faults } }, { status: 400 });
  draw();
  weigh("-1");
  await submit();
  expect(root.querySelector(".trial-row .field-problem")?.textContent).toBe("The weight is not within 0 to 100");
  expect(root.querySelector("[aria-label='Weight of ann']")?.getAttribute("aria-invalid")).toBe("true");
});

test("a change by somebody else is said, and taken when wanted", async () => {
  draw();
  act(() => session.store.setPools([{ ...pool, revision: 4, allocations: [{ apiKeyId: "ann", weight: 10, policy: "hard" }] }]));
  expect(text()).toContain("The pool was changed meanwhile");
  const take = [...root.querySelectorAll("button")].find((button) => button.textContent === "Take the new rules");
  act(() => take?.click());
  expect(root.querySelector<HTMLInputElement>("[aria-label='Weight of ann']")?.value).toBe("10");
});
