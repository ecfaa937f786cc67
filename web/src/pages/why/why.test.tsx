// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Explanation } from "../../api/answers";
import { newSession, type Session, SessionProvider } from "../../state/session";
import { localInput } from "../../model/timeline";
import { ruleMeaning } from "../../words/terms";
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
let unproved: boolean;
/** How questions for an explanation are refused, one after the other. */
let refusals: Response[];
/** Where the history begins. */
let since: string | undefined;

const refusal = (status: number, code: string, message: string, more = {}, headers = {}) => Response.json({ error: { code, message, ...more } }, { status, headers });

function answer(url: URL): unknown {
  asked.push(url);
  if (url.pathname === "/api/quota/decisions") return { decisions: [] };
  if (url.pathname === "/api/quota/state") return { appliedSeq: 1, lastSeq: 1, lagMs: 0, counts: {}, ...(since === undefined ? {} : { replayFrom: since }) };
  if (url.pathname !== "/api/quota/explain") return { keys: [], connections: [], total: 0 };
  if (!url.searchParams.has("decisionId")) return explained;
  const { question, reply } = explained;
  return { ...explained, differs, ...(unproved && { unproved }), recorded: { decisionId: "d-1", time: "2026-09-21T14:00:00.000Z", seq: 10, count: 3, process: "p1", question, reply } };
}

beforeEach(() => {
  vi.useFakeTimers();
  root = document.createElement("div");
  document.body.replaceChildren(root);
  location.hash = "";
  asked = [];
  differs = [];
  unproved = false;
  refusals = [];
  since = "2026-09-21T08:00:00.000Z";
  session = newSession((url) => {
    const found = answer(new URL(url, "http://engine"));
    const refused = url.startsWith("/api/quota/explain") ? refusals.shift() : undefined;
    return Promise.resolve(refused ?? Response.json(found));
  });
  session.store.now.value = Date.parse("2026-09-21T15:00:00Z");
});
afterEach(() => {
  act(() => render(null, root));
  vi.useRealTimers();
});

const draw = async (query: Record<string, string>): Promise<void> => {
  act(() => render(<SessionProvider value={session}><WhyPage id="" query={query} /></SessionProvider>, root));
  await settle();
};
// What is read first leads to what is asked then.
const settle = async (ms = 0): Promise<void> => {
  for (let round = 0; round < 3; round++) await act(async () => void (await vi.advanceTimersByTimeAsync(round === 0 ? ms : 0)));
};
const press = async (name: string): Promise<void> => {
  const button = [...root.querySelectorAll("button")].find((found) => found.textContent === name);
  if (!button) throw new Error(`no button ${name} in ${text()}`);
  act(() => button.click());
  await settle();
};
const field = (label: string): HTMLInputElement => {
  const found = [...root.querySelectorAll("label")].find((each) => each.textContent?.startsWith(label));
  return document.getElementById(found?.htmlFor ?? "") as HTMLInputElement;
};
const enter = async (label: string, value: string): Promise<void> => {
  act(() => {
    field(label).value = value;
    field(label).dispatchEvent(new Event("change", { bubbles: true }));
  });
  await settle();
};
const text = (): string => (root.textContent ?? "").replaceAll("\u00a0", " ");
const explains = (): string[] => asked.filter((url) => url.pathname === "/api/quota/explain").map((url) => decodeURIComponent(url.search));

test("a question without an instant is about now, and says what would be", async () => {
  await draw({ key: "ann", connection: "kimi-1" });
  expect(explains()).toEqual(["?apiKeyId=ann&connectionId=kimi-1&at=2026-09-21T15:00:00.000Z&top=10"]);
  expect(text()).toContain("ann would be blocked on kimi-1");
});

test("now is that of the engine, not of the browser", async () => {
  vi.setSystemTime("2026-09-21T20:00:00Z");
  session = newSession((url) => Promise.resolve(Response.json(answer(new URL(url, "http://engine")), { headers: { Date: "Mon, 21 Sep 2026 15:00:00 GMT" } })));
  await draw({ key: "ann", connection: "kimi-1" });
  expect(explains()).toEqual(["?apiKeyId=ann&connectionId=kimi-1&at=2026-09-21T15:00:00.000Z&top=10"]);
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

test("what the log cannot prove any more is said to be what was recorded", async () => {
  unproved = true;
  await draw({ decision: "d-1" });
  expect(text()).toContain("Given 3 times within a second by process p1. It cannot be derived again, as the log lacks messages.");
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
  expect(text()).toContain("Who used how much, the most firstann704 requestsall together1,971 requests");
  await press("Show more events");
  expect(explains().at(-1)).toBe("?decisionId=d-1&top=1000");
});

test.each(["threshold", "guarantee"] as const)("the rule %s is said among those in force", async (rule) => {
  const pool = explained.rules.pool as NonNullable<Explanation["rules"]["pool"]>;
  const of = { ...explained, rules: { ...explained.rules, pool: { ...pool, rule } } };
  session = newSession((url) => Promise.resolve(Response.json(url.includes("/explain") ? of : answer(new URL(url, "http://engine")))));
  await draw({ key: "ann", connection: "kimi-1" });
  expect(text()).toContain(`${ruleMeaning(rule)}; ann has weight`);
});

test("of a request that let a connection be chosen all are told, and what stands against them", async () => {
  const candidates = [{ connectionId: "kimi-1", order: 1, inFlight: 2, maxConcurrent: 3 }, { connectionId: "kimi-2", order: 2, inFlight: 3, maxConcurrent: 3, gate: "capacity" }, { connectionId: "kimi-3", order: 3, inFlight: 0, gate: "blocked" }];
  session = newSession((url) => Promise.resolve(Response.json(url.includes("/explain") ? { ...explained, reply: { ...explained.reply, candidates } } : answer(new URL(url, "http://engine")))));
  await draw({ key: "ann", pool: "team" });
  await settle(60_000);
  const rows = [...root.querySelectorAll("[aria-label='Connections in the order in which they are tried'] tbody tr")].map((tr) => [...tr.children].map((cell) => cell.textContent));
  expect(rows).toEqual([
    ["kimi-1", "first", "2 of 3 at once", "nothing"],
    ["kimi-2", "2", "3 of 3 at once", "has as many in flight as it may, so it is not chosen"],
    ["kimi-3", "3", "0", "the key would be blocked on it, so it is not chosen"],
  ]);
});

test("points that no key caused are told, so that those of all sum up", async () => {
  const d = explained.reply.dimensions![1]!;
  const line = { ...explained.consumption[0]!, unit: "percent", window: "5h", keys: [{ apiKeyId: "ann", consumed: "132.5" }, { apiKeyId: "bob", consumed: "18.333333" }] } as const;
  const plans = ["c-1", "c-2"].map((connectionId) => ({ connectionId, provider: "x", poolId: "team", dimensions: [], source: "none", revision: 0, warnings: [] }));
  // unattributed is what the provider of the serving connection says, and not of both.
  const of = { ...explained, rules: { ...explained.rules, plans }, consumption: [line], reply: { ...explained.reply, dimensions: [{ ...d, unit: "percent", window: "5h", consumedTotal: "165.833333", unattributed: 7 }] } };
  session = newSession((url) => Promise.resolve(Response.json(url.includes("/explain") ? of : answer(new URL(url, "http://engine")))));
  await draw({ key: "ann", connection: "kimi-1" });
  await settle(60_000);
  expect(text()).toContain("ann132.5 pointsbob18.333333 pointsno key: more than was sent, and what is rounded off15 pointsall together165.833333 points");
});

test("the slider asks when it rests, once", async () => {
  await draw({ key: "ann", connection: "kimi-1" });
  await settle(500); // what is recorded
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

test("where else the key may go, and who else has room, is told", async () => {
  const { reply } = explained;
  const told = async (change: Partial<typeof reply>): Promise<string> => {
    act(() => render(null, root));
    session = newSession((url) => Promise.resolve(Response.json(url.includes("/explain") ? { ...explained, reply: { ...reply, ...change } } : answer(new URL(url, "http://engine")))));
    session.store.now.value = Date.parse("2026-09-21T15:00:00Z");
    await draw({ key: "ann", connection: "kimi-1" });
    await settle(60_000);
    return text();
  };
  expect(await told({ decision: "allow", reason: "ok", alternatives: ["kimi-2", "kimi-3"] })).toContain("Also allowed on: kimi-2, kimi-3.");
  expect(await told({ alternatives: ["kimi-2"] })).toContain("Allowed on: kimi-2.");
  expect(await told({ reason: "global-saturated", scope: "connection" })).toContain("Other connections may have room.");
  expect(await told({ reason: "model-cap", scope: "model" })).toContain("Other models may have room.");
  expect(await told({ retryAt: "2026-09-21T14:20:00.000Z" })).toContain("Until 14:20:00, if nobody uses anything more: by then so much");
  expect(await told({ reason: "suspended" })).toContain("It does not end by itself.");
});

test("a pool, and a request of a size, are asked about as they are", async () => {
  await draw({ key: "ann", pool: "team", tokens: "800", usd: "0.1" });
  expect(explains()).toEqual(["?apiKeyId=ann&pool=team&at=2026-09-21T15:00:00.000Z&top=10&estimate.tokens=800&estimate.usd=0.1"]);
  await enter("Connection", "kimi-1");
  expect(location.hash).toBe("#/why?key=ann&tokens=800&usd=0.1&connection=kimi-1");
});

test("who has the id of a decision needs nothing else", async () => {
  await draw({ key: "ann", connection: "kimi-1", tokens: "800" });
  await enter("or the id", "d-1");
  expect(location.hash).toBe("#/why?decision=d-1");
  await draw({ decision: "d-1" });
  await enter("Model", "k2");
  expect(location.hash).toBe(`#/why?key=ann&connection=kimi-1&at=${Date.parse("2026-09-21T14:00:00Z")}&model=k2`);
});

test("only moments that the history has are offered, and asked about", async () => {
  since = "2026-09-21T08:00:00.250Z"; // a field has no milliseconds
  await draw({ key: "ann", connection: "kimi-1" });
  const slider = root.querySelector<HTMLInputElement>("input[type=range]")!;
  expect(slider.getAttribute("aria-description")?.replaceAll("\u00a0", " ")).toBe("Arrow keys go 6 s, Page Up and Page Down 36 min.");
  expect([...root.querySelectorAll(".choice label")].map((label) => label.textContent)).toEqual(["1 h", "6 h", "all"]);
  expect([field("Moment").min, field("Moment").max]).toEqual(["2026-09-21T08:00:00", "2026-09-21T15:00:00"].map(local));
  act(() => root.querySelectorAll<HTMLInputElement>(".choice input")[2]?.click());
  expect(Number(root.querySelector<HTMLInputElement>("input[type=range]")!.min)).toBe(Date.parse(since));
  expect(text()).toContain("where the history begins");
  await enter("Moment", local("2026-09-21T07:59:58"));
  expect(text()).toContain("The history does not reach back so far.");
  expect(location.hash).toBe("");
  await enter("Moment", local("2026-09-21T15:00:01"));
  expect(text()).toContain("That is still to come.");
  await enter("Moment", local("2026-09-21T08:00:00"));
  expect(location.hash).toContain(`at=${Date.parse(since)}`);
});
const local = (time: string): string => localInput(Date.parse(`${time}Z`));

test("an address from before the history is not asked, and leads to its beginning", async () => {
  await draw({ key: "ann", connection: "kimi-1", at: String(Date.parse("2026-09-21T07:00:00Z")) });
  expect(explains()).toEqual([]);
  await press("Go to the beginning");
  expect(location.hash).toBe(`#/why?key=ann&connection=kimi-1&at=${Date.parse("2026-09-21T08:00:00Z")}`);
});

test("an engine that does not say where its history begins is asked, and what it refuses is told", async () => {
  since = undefined;
  refusals = [refusal(400, "invalid", "at is before the log begins, which is with message 7", { faults: [{ field: "at", problem: "is before the log begins, which is with message 7" }] })];
  await draw({ key: "ann", connection: "kimi-1", at: "1000000000000" });
  expect(text()).toContain("This could not be explainedat is before the log begins, which is with message 7");
  expect(text()).not.toContain("Ask again");
});

test("who waits for somebody else's audit is told, can stop, and can ask again", async () => {
  refusals = [refusal(429, "busy", "an audit is running here", {}, { "Retry-After": "1" }), refusal(429, "busy", "an audit is running here", {}, { "Retry-After": "9" })];
  await draw({ key: "ann", connection: "kimi-1" });
  await settle(1_000);
  act(() => void (session.store.now.value += 2_000));
  expect(text()).toContain("Waiting for its turn");
  expect(explains()).toHaveLength(2);
  await press("Stop");
  expect(text()).toContain("StoppedThe answer was not waited for.");
  await settle(20_000);
  expect(explains()).toHaveLength(2);
  await press("Ask again");
  await settle(250);
  expect(text()).toContain("ann would be blocked on kimi-1");
});

test("what takes too long is said as the engine says it, and no old answer stands below", async () => {
  await draw({ key: "ann", connection: "kimi-1" });
  await settle(30_000); // the test before gave one up, and its clock was ahead
  expect(text()).toContain("ann would be blocked on kimi-1");
  refusals = [refusal(503, "unavailable", "explain: there is more to read than there is time for here")];
  await draw({ key: "ann", connection: "kimi-1", at: String(Date.parse("2026-09-21T14:00:00Z")) });
  expect(text()).toContain("This could not be explainedexplain: there is more to read than there is time for here");
  expect(text()).not.toContain("would be blocked");
  await press("Ask again");
  expect(text()).toContain("ann would be blocked on kimi-1");
});

test("how long it reads is told after a second", async () => {
  await draw({ key: "ann", connection: "kimi-1" });
  session = newSession((url) => (url.startsWith("/api/quota/explain") ? new Promise(() => undefined) : Promise.resolve(Response.json(answer(new URL(url, "http://engine"))))));
  session.store.now.value = Date.parse("2026-09-21T15:00:00Z");
  await draw({ key: "bob", connection: "kimi-1" });
  act(() => void (session.store.now.value += 999));
  expect(text()).not.toContain("so far");
  act(() => void (session.store.now.value += 11_001));
  expect(text()).toContain("It takes 80 s at most. 12 s so far");
  expect(root.querySelector("progress")?.value).toBe(12);
});

test("an answer that comes late is none to the question that was asked since", async () => {
  let late: (of: Response) => void = () => undefined;
  session = newSession((url) => {
    if (url.includes("apiKeyId=ann") && url.includes("/explain")) return new Promise((resolve) => (late = resolve));
    const found = answer(new URL(url, "http://engine")) as object;
    return Promise.resolve(Response.json(url.includes("/explain") ? { ...found, question: { apiKeyId: "bob", connectionId: "kimi-1" } } : found));
  });
  session.store.now.value = Date.parse("2026-09-21T15:00:00Z");
  await draw({ key: "ann", connection: "kimi-1" });
  await settle(60_000);
  await draw({ key: "bob", connection: "kimi-1" });
  await settle(250);
  late(Response.json(explained));
  await settle();
  expect(text()).toContain("bob would be blocked on kimi-1");
  expect(text()).not.toContain("ann would be");
});
