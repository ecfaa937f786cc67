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
let offsets: number[];

function answer(url: URL): unknown {
  const [offset, limit] = [Number(url.searchParams.get("offset")), Number(url.searchParams.get("limit"))];
  offsets.push(offset);
  return { rejected: kept.slice(offset, offset + limit), total: kept.length };
}

beforeEach(() => {
  vi.useFakeTimers();
  root = document.createElement("div");
  document.body.replaceChildren(root);
  offsets = [];
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
const messages = (): (string | null)[] => [...root.querySelectorAll(".rejected-message")].map((shown) => shown.textContent);

test("the newest come first, and of many only these", async () => {
  kept = Array.from({ length: 250 }, (_, i) => rejected(i + 1));
  await draw();
  expect(offsets).toEqual([0, 50]);
  expect(messages()).toHaveLength(200);
  expect(messages()[0]).toBe("m-250");
  const more = [...root.querySelectorAll("button")].find((button) => button.textContent === "Show older ones");
  await act(async () => more?.click());
  await settle();
  expect(messages().at(-1)).toBe("m-1");
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
  expect(offsets).toEqual([0, 0, 0]);
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
