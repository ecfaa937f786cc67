// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Rejected } from "../../api/types";
import { newSession, type Session, SessionProvider } from "../../state/session";
import { RejectedPage } from ".";

const sent = btoa('{"apiKeyId":"ann"}');
const rejected = (seq: number): Rejected => ({ seq, index: 0, subject: "quota.consumption", reason: "invalid", message: `m-${seq}`, time: "2026-09-21T14:00:00.000Z", headers: { "Nats-Msg-Id": ["x"] }, data: sent });

let root: HTMLElement;
let session: Session;
/** What the engine has, the oldest first. */
let kept: Rejected[];
let asked: string[];
/** How many events the engine looks at for a page. */
let looksAt: number;

function answer(url: URL): unknown {
  const { order, limit, before, text = "" } = Object.fromEntries(url.searchParams);
  asked.push(decodeURIComponent(url.search));
  if (order !== "newest") throw new Error(`they come the wrong way round: ${url.search}`);
  const place = before === undefined ? kept.length : Number(before) - 1;
  const lookedAt = kept.slice(Math.max(0, place - Math.min(looksAt, Number(limit))), place);
  const next = place - lookedAt.length;
  return { rejected: lookedAt.filter((row) => row.message.includes(text)).reverse(), total: kept.length, ...(next > 0 ? { next: next + 1 } : {}) };
}

beforeEach(() => {
  vi.useFakeTimers();
  root = document.createElement("div");
  document.body.replaceChildren(root);
  asked = [];
  looksAt = 1000;
  session = newSession((url) => Promise.resolve(Response.json(answer(new URL(url, "http://engine")))));
});
afterEach(() => {
  act(() => render(null, root));
  vi.useRealTimers();
});

const settle = (ms = 0): Promise<void> => act(async () => void (await vi.advanceTimersByTimeAsync(ms)));
const draw = async (query: Record<string, string> = {}): Promise<void> => {
  act(() => render(<SessionProvider value={session}><RejectedPage id="" query={query} /></SessionProvider>, root));
  await settle();
};
const press = async (name: string): Promise<void> => {
  const button = [...root.querySelectorAll("button")].find((found) => found.textContent === name);
  await act(async () => button?.click());
  await settle();
};
const messages = (): (string | null)[] => [...root.querySelectorAll(".rejected-message")].map((shown) => shown.textContent);

test("the newest come first, and of many only these", async () => {
  kept = Array.from({ length: 250 }, (_, i) => rejected(i + 1));
  await draw();
  expect(asked).toEqual(["?order=newest&limit=200"]);
  expect(messages()).toHaveLength(200);
  expect(messages()[0]).toBe("m-250");
  expect(root.textContent?.replaceAll("\u00a0", " ")).toContain("200 events shown, the newest first, of 250 that are kept.");
  await press("Show older ones");
  expect(messages().at(-1)).toBe("m-1");
  expect(root.querySelectorAll("button")).toHaveLength(0);
});

test("a filter is the engine's, and goes on through pages that have nothing", async () => {
  kept = Array.from({ length: 2_450 }, (_, i) => rejected(i + 1));
  looksAt = 100;
  await draw({ reason: "invalid", text: "m-300" });
  expect(asked[0]).toBe("?order=newest&reason=invalid&text=m-300&limit=200");
  expect(asked).toHaveLength(20);
  expect(root.textContent).toContain("None of the newest rejected events is as the filters say. Older ones may be.");
  await press("Look further back");
  expect(messages()).toEqual(["m-300"]);
  expect(asked.slice(20)).toHaveLength(25);
});

test("another filter begins at the newest again", async () => {
  kept = Array.from({ length: 250 }, (_, i) => rejected(i + 1));
  await draw();
  await press("Show older ones");
  expect(asked.at(-1)).toBe("?order=newest&limit=400");
  await draw({ reason: "invalid" });
  expect(asked.at(-1)).toBe("?order=newest&reason=invalid&limit=200");
});

test("what comes is shown without a reload, once a second", async () => {
  kept = [];
  await draw();
  expect(root.textContent).toContain("Nothing was rejected");
  kept = [rejected(1), rejected(2)];
  const counts = { folded: 0, duplicates: 0, late: 0, clamped: 0 };
  for (const n of [1, 2]) act(() => session.store.setState({ appliedSeq: n, lastSeq: n, lagMs: 0, counts: { ...counts, rejected: n } }));
  await settle(1_000);
  await settle();
  expect(messages()).toEqual(["m-2", "m-1"]);
  expect(asked).toHaveLength(2);
});

test("what was sent shows when it is opened", async () => {
  kept = [rejected(7)];
  await draw();
  expect(root.querySelector("pre")).toBeNull();
  const details = root.querySelector("details")!;
  act(() => {
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
  });
  expect(root.querySelector("pre")?.textContent).toBe('{\n  "apiKeyId": "ann"\n}');
  expect(root.textContent).toContain("Message 7 of the log");
});
