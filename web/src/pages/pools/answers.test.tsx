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

function Shown({ alone }: { alone: boolean }) {
  return <Answers of={session.store.all.value} alone={alone} />;
}

const draw = (alone = false): void => void act(() => render(<SessionProvider value={session}><Shown alone={alone} /></SessionProvider>, root));
const text = (of: Element | null | undefined): string => (of?.textContent ?? "").replaceAll(nbsp, " ");
const answers = (): string[] => [...root.querySelectorAll(".answer-said")].map((said) => [...said.querySelectorAll("p")].map(text).join(" "));
const rows = (place: number): string[] => [...(root.querySelectorAll(".answer")[place]?.querySelectorAll("li") ?? [])].map(text);

const pool = { id: "team", name: "Team", connectionIds: ["a"], allocations: [], modelCaps: [] } as unknown as Pool;
const verdict = (apiKeyId: string, change: Partial<KeyVerdict> = {}): KeyVerdict =>
  ({ apiKeyId, allocation: apiKeyId, decision: "allow", reason: "ok", deprioritize: false, retryAt: null, ...change });
const use = (apiKeyId: string, consumed: number, borrowing = false): KeyUse =>
  ({ apiKeyId, allocation: apiKeyId, consumed, held: 0, fairShare: 50, deficit: consumed - 50, borrowing, remaining: 0, burnRate: { perSecond: 0 } });
const dimension = { unit: "requests", window: "hourly", limit: 100, consumedTotal: 80, heldTotal: 0, usedPercent: 80, mode: "strict", perConnection: [], burnRate: { perSecond: 0, timeToExhaustionMs: null } };

function tell(keys: KeyVerdict[], perKey: KeyUse[], signals: Partial<Signal>[], change: Partial<UsedDimension> = {}): void {
  const at = new Date(now).toISOString();
  const usage = { poolId: "team", generatedAt: at, asOf: { time: at }, keys, signals, dimensions: [{ ...dimension, ...change, perKey } as unknown as UsedDimension] } as unknown as Usage;
  act(() => {
    session.store.setPools([pool]);
    session.store.setUsage(usage);
  });
}

const account = (usedPercent: number): Partial<Signal> => ({ connectionId: "a", window: "5h", usedPercent, resetAt: "2026-09-21T16:30:00Z", observedAt: "2026-09-21T14:00:00Z", signal: "fresh" });

test("all is well", () => {
  draw();
  tell([verdict("ann")], [use("ann", 40)], [account(40)], { usedPercent: 30 });
  expect(answers()).toEqual(["Nobody.", "Yes: every account lasts until its reset.", "Yes: nobody is above its share."]);
  expect(rows(1)[0]).toMatch(/^a, 5-hour windowLasts until .*40 % of the limit, 50 % of the time$/);
});

test("nothing is said before a pool has told its numbers", () => {
  draw();
  act(() => session.store.setPools([pool]));
  expect(new Set(answers())).toEqual(new Set(["Not known yet: the numbers are being read."]));
});

test("nothing is known", () => {
  draw();
  tell([], [], [], { limit: null, usedPercent: null });
  expect(answers()).toEqual(["Nobody.", "Nobody can say: no limit is known.", "Nobody has used anything that has a limit."]);
});

test("without a rate nothing is promised", () => {
  draw();
  tell([], [use("ann", 40)], []);
  expect(answers()[1]).toBe("Nobody can say: too little was used in the last hour.");
});

test("all is not well, and each answer says so by itself", () => {
  draw();
  tell(
    [verdict("ann", { decision: "block", reason: "suspended" }), verdict("bob", { wouldBlock: true, reason: "fair-share" })],
    [use("ann", 66, true), use("bob", 14)],
    [account(132)],
    { burnRate: { perSecond: 1, timeToExhaustionMs: 60_000 } },
  );
  expect(answers()).toEqual([
    "1 key blocked. 1 key would be, where pools only observe.",
    "No: 1 limit is used up. 1 limit runs out at this rate.",
    "Not quite: 1 key is above its share. Shares count there now.",
  ]);
  expect(rows(0)[0]).toBe("annblockedThe key is suspended in this pool until somebody lifts that. In Team.");
  expect(rows(1)[0]).toContain("132 % of the limit");
  expect(rows(2)).toEqual(["ann132 % of its share66 of 50, requests per hour, in Team", "bob28 % of its share14 of 50, requests per hour, in Team"]);
});

test("a block by the rule guarantee is told by what it says, not by shares", () => {
  draw();
  tell([verdict("ann", { decision: "block", reason: "fair-share", detail: "yield" })], [use("ann", 66, true)], [], { mode: "guarantee" });
  expect(rows(0)[0]).toContain("keys that have used less for their weight go first.");
});

test("who borrows while there is room is fair, and who is blocked below its share is not", () => {
  draw();
  tell([], [use("ann", 66, true), use("bob", 14)], [account(80)], { mode: "generous", burnRate: { perSecond: "0.02", timeToExhaustionMs: 3_600_001 } });
  expect(answers().slice(1)).toEqual(["No: 1 account window runs out before the reset.", "Yes: 1 key borrows what others leave."]);
  expect(rows(1)[1]).toBe("Team, requests per hourLasts at this rate80 % of the limit, going to 72 % of it");
  tell([verdict("bob", { decision: "block", reason: "global-saturated" })], [use("ann", 66, true), use("bob", 34)], [], { consumedTotal: 100 });
  expect(answers()[2]).toBe("No: 1 key is blocked below its share. Shares count there now.");
  expect(rows(2)[0]).toBe("bobblocked at 68 % of its share34 of 50, requests per hour, in Team");
});

test("a burst that still counts is no promise, whatever the rate behind it comes to", () => {
  draw(true);
  tell([], [use("ann", 66, true)], [], { consumedTotal: 92, usedPercent: 92, burnRate: { perSecond: "0.02", timeToExhaustionMs: 396_137 } });
  expect(answers()[1]).toMatch(/^Perhaps not: 1 limit may run out at this rate. Requests per hour: at .*:06 at the earliest.$/);
});

test("points that no provider tells of are a limit as others are", () => {
  draw();
  tell([], [], [], { unit: "percent", consumedTotal: "105.75", usedPercent: "105.75" });
  expect(answers()[1]).toBe("No: 1 limit is used up.");
  expect(rows(1)).toEqual(["Team, the provider's hourly windowUsed up105.7 % of the limit"]);
});

test.each([
  ["observe", "Not quite: 1 key is above its share. Shares would count there now, but nobody is blocked where a pool only observes."],
  ["off", "Nobody is held to a share: what is off only counts."],
] as const)("a pool whose mode is %s does not answer as if it enforced", (mode, said) => {
  draw();
  tell([], [use("ann", 66, true)], [], { consumedTotal: 70 });
  act(() => session.store.setPools([{ ...pool, mode } as Pool]));
  expect(answers()[2]).toBe(said);
});

test("on the page of a pool, what stands below is not told twice", () => {
  draw(true);
  tell([], [use("ann", 66, true)], [], { mode: "generous", burnRate: { perSecond: "0.02", timeToExhaustionMs: 3_600_001 } });
  expect(answers()).toEqual(["Nobody.", "Yes: at this rate no limit is reached. At this rate 72 requests per hour, of 100.", "Yes: 1 key borrows what others leave. ann borrows 16 requests."]);
  expect([rows(1), rows(2)]).toEqual([[], []]);
});

test("a key in two pools is one key", () => {
  draw();
  const blocked = ["ann", "*"].map((id) => verdict(id, { decision: "block", reason: "suspended", retryAt: null }));
  tell(blocked, [], []);
  act(() => {
    session.store.setPools([pool, { ...pool, id: "other" } as Pool]);
    session.store.setUsage({ ...session.store.usage("team").value, poolId: "other" } as Usage);
  });
  expect(answers()[0]).toBe("3 keys in 2 pools blocked.");
});

test("keys that are blocked for the same are one row", () => {
  draw();
  tell(["ann", "bob", "cat", "dan", "eve", "fay"].map((id) => verdict(id, { decision: "block", reason: "suspended" })), [], []);
  expect(answers()[0]).toBe("6 keys blocked.");
  expect(rows(0)).toEqual(["ann, bob, cat, dan and 2 moreblockedThe key is suspended in this pool until somebody lifts that. In Team."]);
});

test("a long answer is shortened, until one asks for all of it", () => {
  draw();
  tell([], Array.from({ length: 5 }, (_, i) => use(`key-${i}`, 10 + i)), []);
  expect(rows(2)).toHaveLength(3);
  act(() => root.querySelector<HTMLElement>(".answer > .button")?.click());
  expect(rows(2)).toHaveLength(5);
});

test("who has understood is not told again", () => {
  act(() => render(<Intro />, root));
  act(() => root.querySelector("button")?.click());
  expect(root.textContent).toBe("");
  act(() => render(null, root));
  act(() => render(<Intro />, root));
  expect(root.textContent).toBe("");
});
