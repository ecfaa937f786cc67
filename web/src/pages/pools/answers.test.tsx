// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { KeyUse, KeyVerdict, Pool, Signal, Usage, UsedDimension } from "../../api/types";
import { newSession, SessionProvider, type Session } from "../../state/session";
import { nbsp } from "../../words/amount";
import { Answers } from "./answers";
import { Intro } from "./intro";

let root: HTMLElement;
let session: Session;
const now = Date.parse("2026-09-21T14:00:00Z");

beforeEach(() => {
  localStorage.clear();
  root = document.createElement("div");
  document.body.replaceChildren(root);
  session = newSession(() => Promise.reject(new Error("nobody asks")));
  session.store.now.value = now;
});
afterEach(() => act(() => render(null, root)));

const draw = (): void => void act(() => render(<SessionProvider value={session}><Answers /></SessionProvider>, root));
const text = (of: Element | null | undefined): string => (of?.textContent ?? "").replaceAll(nbsp, " ");
const answers = (): string[] => [...root.querySelectorAll(".answer-said")].map(text);
const rows = (place: number): string[] => [...(root.querySelectorAll(".answer")[place]?.querySelectorAll("li") ?? [])].map(text);

const pool = { id: "team", name: "Team", connectionIds: ["a"], allocations: [] } as unknown as Pool;
const verdict = (apiKeyId: string, change: Partial<KeyVerdict> = {}): KeyVerdict =>
  ({ apiKeyId, allocation: apiKeyId, decision: "allow", reason: "ok", deprioritize: false, retryAt: null, ...change });
const use = (apiKeyId: string, consumed: number, borrowing = false): KeyUse =>
  ({ apiKeyId, allocation: apiKeyId, consumed, held: 0, fairShare: 50, deficit: consumed - 50, borrowing, remaining: 0, burnRate: { perSecond: 0 } });
const dimension = { unit: "requests", window: "hourly", limit: 100, consumedTotal: 80, heldTotal: 0, usedPercent: 80, mode: "strict", perConnection: [], burnRate: { perSecond: 0, timeToExhaustionMs: null } };

function tell(keys: KeyVerdict[], perKey: KeyUse[], signals: Partial<Signal>[]): void {
  const usage = { poolId: "team", generatedAt: new Date(now).toISOString(), keys, signals, dimensions: [{ ...dimension, perKey } as unknown as UsedDimension] } as unknown as Usage;
  act(() => {
    session.store.setPools([pool]);
    session.store.setUsage(usage);
  });
}

test("all is well", () => {
  draw();
  tell([verdict("ann")], [use("ann", 40)], [{ connectionId: "a", window: "5h", usedPercent: 40, resetAt: "2026-09-21T16:30:00Z", observedAt: "2026-09-21T14:00:00Z", signal: "fresh" }]);
  expect(answers()).toEqual(["Nobody.", "Every account lasts until its reset.", "Nobody uses more than its share."]);
  expect(rows(1)[0]).toMatch(/^a, 5-hour windowLasts until .*40 % of the limit used, 50 % of the time over$/);
});

test("nothing is known", () => {
  draw();
  expect(answers()).toEqual(["Nobody.", "No provider has told of a reset yet.", "Nobody has used anything that has a limit."]);
});

test("all is not well, and each answer says so by itself", () => {
  draw();
  tell(
    [verdict("ann", { decision: "block", reason: "suspended" }), verdict("bob", { wouldBlock: true, reason: "fair-share" })],
    [use("ann", 66, true), use("bob", 14)],
    [{ connectionId: "a", window: "5h", usedPercent: 132, resetAt: "2026-09-21T16:30:00Z", observedAt: "2026-09-21T14:00:00Z", signal: "fresh" }],
  );
  expect(answers()).toEqual(["1 key blocked, 1 key would be, but the pool only observes", "1 window used up", "1 key above its share."]);
  expect(rows(0)[0]).toBe("annblockedThe key is suspended in this pool until somebody lifts that. In Team. Why exactly?");
  expect(rows(1)[0]).toContain("132 % of the limit used");
  expect(rows(2)).toEqual(["ann132 % of its share66 of 50, requests per hour, in Team", "bob28 % of its share14 of 50, requests per hour, in Team"]);
});

test("a long answer is shortened, until one asks for all of it", () => {
  draw();
  tell(Array.from({ length: 6 }, (_, i) => verdict(`key-${i}`, { decision: "block", reason: "suspended" })), [], []);
  expect(rows(0)).toHaveLength(4);
  act(() => root.querySelector<HTMLElement>(".answer > .button")?.click());
  expect(rows(0)).toHaveLength(6);
});

test("who has understood is not told again", () => {
  act(() => render(<Intro />, root));
  act(() => root.querySelector("button")?.click());
  expect(root.textContent).toBe("");
  act(() => render(null, root));
  act(() => render(<Intro />, root));
  expect(root.textContent).toBe("");
});
