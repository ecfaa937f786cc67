import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { timing } from "../live/connection";
import { newSession } from "./session";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const counts = { folded: 0, duplicates: 0, rejected: 0, late: 0, clamped: 0 };

/** An engine with one pool whose stream does what the test says. */
function engine(stream: () => Response) {
  const asked: string[] = [];
  let pools = (): Response => Response.json({ pools: [{ id: "a" }], total: 1 });
  const fetch = (url: string): Promise<Response> => {
    asked.push(url.replace("/api/quota/", "").replace(/\?.*/, ""));
    if (url.includes("/stream")) return Promise.resolve(stream());
    if (url.includes("/usage")) return Promise.resolve(Response.json({ usage: { poolId: "a", generatedAt: "2026-09-21T14:00:00.000Z" } }));
    if (url.includes("/state")) return Promise.resolve(Response.json({ appliedSeq: 1, lastSeq: 1, lagMs: 0, counts }));
    return Promise.resolve(pools());
  };
  const session = newSession(fetch);
  return { session, asked, setPools: (answer: () => Response) => void (pools = answer) };
}

/** A stream that tells these pieces, and goes on. */
function told(...pieces: string[]): Response {
  const text = new TextEncoder();
  return new Response(new ReadableStream({ start: (control) => pieces.forEach((piece) => control.enqueue(text.encode(piece))) }));
}

const change = (seq: number): string => `event: config\nid: ${seq}.a.0\ndata: {"seq":${seq},"time":"t"}\n\n`;

test("many changes are read once", async () => {
  const { session, asked } = engine(() => told(change(1) + change(2) + change(3)));
  session.connection.start();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asked).toEqual(["stream", "pools"]);
  expect(session.store.pools.value).toHaveLength(1);
  session.connection.stop();
});

test("without a stream all is asked for", async () => {
  const { session, asked } = engine(() => new Response("", { status: 502 }));
  session.connection.start();
  await vi.advanceTimersByTimeAsync(timing.patience);
  expect(asked.filter((path) => path !== "stream")).toEqual(["pools", "state", "pools/a/usage"]);
  expect(session.store.usage("a").value).not.toBeNull();
  expect(session.store.engine.value.kind).toBe("ready");
  expect(session.store.heardAt.value).not.toBeNull();
  session.connection.stop();
});

/** An engine without a stream and with some pools, whose usage is answered as the test says. */
function polled(ids: string[], usage: (id: string) => Promise<Response>) {
  let stream = (): Response => new Response("", { status: 502 });
  const session = newSession((url) => {
    if (url.includes("/stream")) return Promise.resolve(stream());
    const id = /pools\/(.*)\/usage/.exec(url)?.[1];
    if (id !== undefined) return usage(id);
    return Promise.resolve(Response.json(url.includes("/state") ? { appliedSeq: 1, lastSeq: 1, lagMs: 0, counts } : { pools: ids.map((one) => ({ id: one })), total: ids.length }));
  });
  return { session, setStream: (answer: () => Response) => void (stream = answer) };
}

const used = (poolId: string, generatedAt: string): Response => Response.json({ usage: { poolId, generatedAt } });

test("one pool that cannot be asked about keeps no other from being known", async () => {
  const { session } = polled(["a", "..", "x", "y", "z", "b"], (id) => Promise.resolve(["a", "b"].includes(id) ? used(id, "t") : new Response("", { status: 404 })));
  session.connection.start();
  await vi.advanceTimersByTimeAsync(timing.patience);
  expect(["a", "..", "b"].map((id) => session.store.usage(id).value?.generatedAt)).toEqual(["t", undefined, "t"]);
  session.connection.stop();
});

test("many pools are asked about a few at a time, and each answer is a sign of life", async () => {
  let [now, most] = [0, 0];
  const { session } = polled(Array.from({ length: 300 }, (_, i) => `p${i}`), async (id) => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    now--;
    return used(id, new Date().toISOString());
  });
  session.connection.start();
  await vi.advanceTimersByTimeAsync(timing.patience + 60_000);
  expect(most).toBe(4);
  expect(Date.now() - (session.store.heardAt.value ?? 0)).toBeLessThan(2_000);
  expect(session.store.usage("p299").value).toBeNull();
  await vi.advanceTimersByTimeAsync(16_000);
  expect(session.store.usage("p299").value).not.toBeNull();
  session.connection.stop();
});

test("what was asked before a stream began does not overtake it", async () => {
  let answer = (): void => undefined;
  const { session, setStream } = polled(["a"], () => new Promise((resolve) => (answer = () => resolve(used("a", "asked")))));
  session.connection.start();
  await vi.advanceTimersByTimeAsync(timing.patience);
  setStream(() => told('event: usage\nid: 1.a.0\ndata: {"usage":{"poolId":"a","generatedAt":"told"}}\n\n'));
  await vi.advanceTimersByTimeAsync(timing.patience);
  answer();
  await vi.advanceTimersByTimeAsync(0);
  expect(session.store.usage("a").value?.generatedAt).toBe("told");
  session.connection.stop();
});

test("an engine that is not ready is asked again", async () => {
  const { session, setPools, asked } = engine(() => told(change(1)));
  setPools(() => Response.json({ error: { code: "not-ready", message: "the state is read", type: "t" } }, { status: 503 }));
  session.connection.start();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(session.store.trouble.value?.message).toBe("the state is read");
  setPools(() => Response.json({ pools: [], total: 0 }));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(session.store.trouble.value).toBeNull();
  expect(session.store.pools.value).toEqual([]);
  expect(asked.filter((path) => path === "pools")).toHaveLength(2);
  session.connection.stop();
});

test("many events are taken a few at a time, in their order", async () => {
  const { session } = engine(() => told(Array.from({ length: 20 }, (_, i) => change(i + 1)).join("")));
  const seen: number[] = [];
  session.store.changes.subscribe((changes) => void seen.push(changes.length));
  session.connection.start();
  await vi.advanceTimersByTimeAsync(10);
  expect(seen).toEqual([0, 8, 16, 20]);
  expect(session.store.changes.value.map((known) => known.seq)).toEqual(Array.from({ length: 20 }, (_, i) => 20 - i));
  session.connection.stop();
});

test("what was told to a page that slept is taken at once", async () => {
  const { session } = engine(() => told(Array.from({ length: 501 }, (_, i) => change(i + 1)).join("")));
  const seen: number[] = [];
  session.store.changes.subscribe((changes) => void seen.push(changes.length));
  session.connection.start();
  await vi.advanceTimersByTimeAsync(10);
  expect(seen).toEqual([0, 500]);
  session.connection.stop();
});

test("what is told while events wait does not overtake them, and is not drawn at once", async () => {
  const piece = (from: number): string => Array.from({ length: 20 }, (_, i) => change(from + i)).join("");
  const { session } = engine(() => told(piece(1), piece(21)));
  session.connection.start();
  for (let i = 0; i < 100; i++) await Promise.resolve(); // both pieces are read, and no timer has run
  expect(session.store.changes.value).toHaveLength(8);
  await vi.advanceTimersByTimeAsync(10);
  expect(session.store.changes.value.map((known) => known.seq)).toEqual(Array.from({ length: 40 }, (_, i) => 40 - i));
  session.connection.stop();
});

test("a stream that begins is reason enough to read the pools", async () => {
  const { session, asked } = engine(() => told('event: usage\nid: 1.a.0\ndata: {"usage":{"poolId":"a","generatedAt":"2026-09-21T14:00:00.000Z"}}\n\n'));
  session.connection.start();
  await vi.advanceTimersByTimeAsync(1);
  expect(asked).toEqual(["stream", "pools"]);
  session.connection.stop();
});

test("an answer that was overtaken by a later one is left", async () => {
  const late: ((pools: string) => void)[] = [];
  const session = newSession(() => new Promise((resolve) => late.push((id) => resolve(Response.json({ pools: [{ id }], total: 1 })))));
  const both = [session.refresh(), session.refresh()];
  late[1]?.("new");
  await both[1];
  late[0]?.("old");
  await both[0];
  expect(session.store.pools.value?.map((pool) => pool.id)).toEqual(["new"]);
});

test("what the head of an answer tells is the time before anything else is known", async () => {
  vi.setSystemTime("2026-09-21T12:00:00.000Z");
  const session = newSession(() => Promise.resolve(Response.json({}, { headers: { Date: "Mon, 21 Sep 2026 07:00:00 GMT" } })));
  await session.who.ask();
  expect(new Date(session.store.now.value).toISOString()).toBe("2026-09-21T07:00:00.000Z");
});

test("a browser whose clock is set asks the engine for its own", async () => {
  let head = "Mon, 21 Sep 2026 07:00:00 GMT";
  vi.setSystemTime("2026-09-21T12:00:00.000Z");
  const session = newSession(() => Promise.resolve(Response.json({}, { headers: { Date: head } })));
  await session.who.ask();
  vi.setSystemTime("2026-09-21T09:00:00.000Z"); // nearer, and still not right
  head = "Mon, 21 Sep 2026 07:00:10 GMT";
  session.tick();
  await vi.advanceTimersByTimeAsync(0);
  expect(new Date(session.store.now.value).toISOString()).toBe("2026-09-21T07:00:10.000Z");
});
