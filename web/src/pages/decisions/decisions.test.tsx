// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RecordedDecision } from "../../api/answers";
import { newSession, type Session, SessionProvider } from "../../state/session";
import { localInput } from "../../model/timeline";
import { DecisionsPage } from ".";

const row = (id: string, time: string): RecordedDecision => ({
  decisionId: id, time, seq: 1, count: 1, process: "p", connectionId: "kimi-1", question: { apiKeyId: `key-${id}` },
  reply: { decisionId: id, decision: "block", reason: "fair-share", deprioritize: false, scoreFactor: 1, httpStatus: 429, asOf: { seq: 1, time, lagMs: 0 } },
});

let root: HTMLElement;
let session: Session;
let asked: URL[];
/** What the engine has, the newest first. */
let recorded: RecordedDecision[];
let next: string | undefined;

function answer(url: URL): unknown {
  asked.push(url);
  if (url.pathname !== "/api/quota/decisions") return { keys: [], connections: [], total: 0 };
  if (url.searchParams.get("before") === "empty") return { decisions: [], next: "cursor" };
  if (url.searchParams.has("before")) return { decisions: [row("old", "2026-09-21T09:00:00.000Z")] };
  const from = url.searchParams.get("from") ?? "";
  return { decisions: recorded.filter(({ time }) => time >= from), ...(next && !from ? { next } : {}) };
}

beforeEach(() => {
  vi.useFakeTimers();
  root = document.createElement("div");
  document.body.replaceChildren(root);
  asked = [];
  next = undefined;
  session = newSession((url) => Promise.resolve(Response.json(answer(new URL(url, "http://engine")))));
});
afterEach(() => {
  act(() => render(null, root));
  vi.useRealTimers();
});

const settle = (ms = 0): Promise<void> => act(async () => void (await vi.advanceTimersByTimeAsync(ms)));
const draw = async (query: Record<string, string> = {}): Promise<void> => {
  act(() => render(<SessionProvider value={session}><DecisionsPage id="" query={query} /></SessionProvider>, root));
  await settle();
};
const keys = (): (string | null)[] => [...root.querySelectorAll("tbody tr")].map((tr) => tr.querySelectorAll("td")[1]?.textContent ?? null);
const lists = (): URL[] => asked.filter((url) => url.pathname === "/api/quota/decisions");

test("what is new comes in front, and what was there stays", async () => {
  recorded = [row("b", "2026-09-21T13:59:00.000Z"), row("a", "2026-09-21T10:00:00.000Z")];
  await draw();
  expect(keys()).toEqual(["key-b", "key-a"]);
  recorded = [row("c", "2026-09-21T14:00:00.000Z"), ...recorded];
  act(() => void (session.store.blocks.value = [{ decisionId: "c" } as never]));
  await settle(1_499);
  expect(lists()).toHaveLength(1);
  await settle(1);
  await settle();
  expect(lists()[1]?.searchParams.get("from")).toBe("2026-09-21T13:58:00.000Z"); // what comes late is found too
  expect(keys()).toEqual(["key-c", "key-b", "key-a"]);
});

test("older ones come behind, until there are none", async () => {
  recorded = [row("a", "2026-09-21T10:00:00.000Z")];
  next = "cursor";
  await draw({ key: "key-a" });
  const more = [...root.querySelectorAll("button")].find((button) => button.textContent === "Show older ones");
  await act(async () => more?.click());
  await settle();
  expect(lists().map((url) => [url.searchParams.get("before"), url.searchParams.get("apiKeyId")])).toEqual([[null, "key-a"], ["cursor", "key-a"]]);
  expect(keys()).toEqual(["key-a", "key-old"]);
  expect(root.textContent).not.toContain("Show older ones");
});

test("each leads to why", async () => {
  recorded = [row("a", "2026-09-21T10:00:00.000Z")];
  await draw();
  expect(root.querySelector("tbody a")?.getAttribute("href")).toBe("#/why?decision=a");
});

test("nothing is said as what it is", async () => {
  recorded = [];
  await draw();
  expect(root.textContent).toContain("Nothing was blocked");
  await draw({ key: "ann" });
  expect(root.textContent).toContain("None like that");
});

test("pages without a row are passed over, first and later", async () => {
  recorded = [];
  next = "empty";
  await draw({ reason: "suspended" });
  await settle();
  expect(lists().map((url) => url.searchParams.get("before"))).toEqual([null, "empty", "cursor"]);
  expect(keys()).toEqual(["key-old"]);
});

test("a time of its own is asked for, and written into the address", async () => {
  recorded = [];
  await draw({ span: "between", from: "1790000000000" });
  expect(lists()[0]?.searchParams.get("from")).toBe("2026-09-21T14:13:20.000Z");
  const before = [...root.querySelectorAll<HTMLInputElement>("input[type=datetime-local]")][1]!;
  act(() => {
    before.value = localInput(1790000060000);
    before.dispatchEvent(new Event("change", { bubbles: true }));
  });
  expect(location.hash).toBe("#/decisions?span=between&from=1790000000000&to=1790000060000");
});

test("what is new is not from before the time that is wanted", async () => {
  recorded = [row("b", "2026-09-21T14:13:30.000Z")];
  await draw({ span: "between", from: "1790000000000" });
  act(() => void (session.store.blocks.value = [{ decisionId: "c" } as never]));
  await settle(1_500);
  expect(lists()[1]?.searchParams.get("from")).toBe("2026-09-21T14:13:20.000Z");
});
