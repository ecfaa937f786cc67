// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Explanation } from "../../api/answers";
import { newSession, type Session, SessionProvider } from "../../state/session";
import { WhyPage } from ".";

const setting = (value: number) => ({ value, source: "default", default: value }) as const;

const explained: Explanation = {
  question: { apiKeyId: "ann", connectionId: "kimi-1" },
  reply: {
    decisionId: "d-1", decision: "block", reason: "fair-share", deprioritize: false, scoreFactor: 1, httpStatus: 429, message: "Quota share limit reached",
    binding: { unit: "requests", window: "hourly" }, asOf: { seq: 10, time: "2026-09-21T14:00:00.000Z", lagMs: 0 },
    dimensions: [
      { unit: "tokens", window: "daily", limit: null, consumed: 1, held: 0, fairShare: null, remaining: null, consumedTotal: 1, heldTotal: 0, mode: "generous", borrowing: false, deficit: null, providerUsed: null },
      { unit: "requests", window: "hourly", limit: 3000, consumed: 704, held: 0, fairShare: 600, remaining: 0, consumedTotal: 1971, heldTotal: 0, mode: "strict", borrowing: true, deficit: 104, providerUsed: null },
    ],
  },
  rules: {
    pool: {
      id: "team", name: "Team", provider: "kimi", mode: "enforce", rule: "threshold", reserve: 100, onDegraded: "open", connections: [{ connectionId: "kimi-1", weight: 100 }], connectionIds: ["kimi-1"],
      allocations: [{ apiKeyId: "ann", weight: 20, policy: "hard" }], modelCaps: [], createdAt: "2026-09-21T08:00:00.000Z", revision: 3, updatedAt: "2026-09-21T09:00:00.000Z", actor: "nina", reason: "a fifth is enough", enforcing: true, warnings: [],
    },
    plans: [],
    settings: {
      saturationThreshold: setting(0.5), softDeprioritizeFactor: setting(0.7), consumptionRetentionDays: setting(14), signalTtlMs: setting(30000), holdTtlMs: setting(300000), decisionSampleRate: setting(0.01), maxLagMs: setting(5000), revision: 0,
    },
  },
  signals: [],
  holds: { open: 0, top: [] },
  consumption: [{
    unit: "requests", window: "hourly", from: "2026-09-21T13:00:00.000Z", consumed: 704, found: 700, events: 12, keys: [{ apiKeyId: "ann", consumed: 704 }],
    top: [{ seq: 7, index: 2, type: "quota.consumption", time: "2026-09-21T13:30:00.000Z", apiKeyId: "ann", connectionId: "kimi-1", cost: 800, weight: 700 }],
  }],
  replay: { snapshot: null, seq: 10, missing: 0 },
  notes: [],
};

let root: HTMLElement;
let session: Session;
let asked: URL[];
let differs: string[];

function answer(url: URL): unknown {
  asked.push(url);
  if (url.pathname === "/api/quota/decisions") return { decisions: [] };
  if (url.pathname !== "/api/quota/explain") return { keys: [], connections: [], total: 0 };
  if (!url.searchParams.has("decisionId")) return explained;
  const { question, reply } = explained;
  return { ...explained, differs, recorded: { decisionId: "d-1", time: "2026-09-21T14:00:00.000Z", seq: 10, count: 3, process: "p1", question, reply } };
}

beforeEach(() => {
  vi.useFakeTimers();
  root = document.createElement("div");
  document.body.replaceChildren(root);
  location.hash = "";
  asked = [];
  differs = [];
  session = newSession((url) => Promise.resolve(Response.json(answer(new URL(url, "http://engine")))));
  session.store.now.value = Date.parse("2026-09-21T15:00:00Z");
});
afterEach(() => {
  act(() => render(null, root));
  vi.useRealTimers();
});

const draw = async (query: Record<string, string>): Promise<void> => {
  act(() => render(<SessionProvider value={session}><WhyPage id="" query={query} /></SessionProvider>, root));
  await act(async () => void (await vi.advanceTimersByTimeAsync(0)));
};
const text = (): string => (root.textContent ?? "").replaceAll("\u00a0", " ");
const explains = (): string[] => asked.filter((url) => url.pathname === "/api/quota/explain").map((url) => decodeURIComponent(url.search));

test("a question without an instant is about now, and says what would be", async () => {
  await draw({ key: "ann", connection: "kimi-1" });
  expect(explains()).toEqual(["?apiKeyId=ann&connectionId=kimi-1&at=2026-09-21T15:00:00.000Z&top=10"]);
  expect(text()).toContain("ann would be blocked on kimi-1");
});

test("a recorded decision fills the form, and is said to be what was answered", async () => {
  await draw({ decision: "d-1" });
  expect(text()).toContain("ann was blocked on kimi-1");
  expect(text()).toContain("Given 3 times within a second by process p1, and the same answer comes out of the log again.");
  expect([...root.querySelectorAll("input")].slice(0, 2).map((input) => input.value)).toEqual(["ann", "kimi-1"]);
});

test("what comes out otherwise is said, and not called the same", async () => {
  differs = ["retryAt"];
  await draw({ decision: "d-1" });
  expect(text()).toContain("These fields come out otherwise: retryAt.");
  expect(text()).not.toContain("the same answer comes out");
});

test("the dimension that decided comes first, in words and numbers", async () => {
  await draw({ decision: "d-1" });
  expect([...root.querySelectorAll("h3")].slice(0, 2).map((title) => title.textContent)).toEqual(["Requests per hour", "Tokens per day"]);
  expect(text()).toContain("3,000 × 20 ÷ 100 = 600 requests");
  expect(text()).toContain("This decided");
});

test("events, what of them is missing, and who changed the rules", async () => {
  await draw({ decision: "d-1" });
  expect(text()).toContain("12 events found, which together count 700 requests");
  expect(text()).toContain("The log does not have the events of 4 requests any more");
  expect(text()).toContain("nina: a fifth is enough");
  const more = [...root.querySelectorAll("button")].find((button) => button.textContent === "Show more events");
  await act(async () => more?.click());
  await act(async () => void (await vi.advanceTimersByTimeAsync(0)));
  expect(explains().at(-1)).toBe("?decisionId=d-1&top=1000");
});

test("the slider asks when it rests, once", async () => {
  await draw({ key: "ann", connection: "kimi-1" });
  const slider = root.querySelector<HTMLInputElement>("input[type=range]");
  const to = Date.parse("2026-09-21T14:30:00Z");
  for (const at of [to + 1000, to]) {
    act(() => {
      slider!.value = String(at);
      slider!.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await act(async () => void (await vi.advanceTimersByTimeAsync(249)));
    expect(location.hash).toBe("");
  }
  await act(async () => void (await vi.advanceTimersByTimeAsync(1)));
  expect(location.hash).toBe(`#/why?key=ann&connection=kimi-1&at=${to}`);
});
