import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Connection, timing } from "./connection";

/** A stream that the test feeds, ends and breaks. */
class Stream {
  private control!: ReadableStreamDefaultController<Uint8Array>;
  readonly response: Response;

  constructor(signal: AbortSignal) {
    const body = new ReadableStream<Uint8Array>({ start: (control) => void (this.control = control) });
    signal.addEventListener("abort", () => this.control.error(new DOMException("gone", "AbortError")));
    this.response = new Response(body);
  }

  send(text: string): void {
    this.control.enqueue(new TextEncoder().encode(text));
  }

  end(): void {
    this.control.close();
  }
}

type Answer = "stream" | (() => Response) | Error;

/** A page before an engine whose answers the test gives, and what became of it in words. */
function page(...answers: Answer[]) {
  return pageThatAsks(() => Promise.resolve(), ...answers);
}

/** The same, where asking takes as long as the test says. */
function pageThatAsks(ask: () => Promise<void>, ...answers: Answer[]) {
  const told: string[] = [];
  const ids: string[] = [];
  const streams: Stream[] = [];
  const fetch = (_: string, init: RequestInit): Promise<Response> => {
    ids.push((init.headers as Record<string, string>)["Last-Event-ID"] ?? "");
    const answer = answers.shift() ?? new Error("down");
    if (answer instanceof Error) return Promise.reject(answer);
    if (answer !== "stream") return Promise.resolve(answer());
    const stream = new Stream(init.signal as AbortSignal);
    streams.push(stream);
    return Promise.resolve(stream.response);
  };
  const connection = new Connection(fetch, {
    link: (link) => void told.push(link.kind),
    heard: () => undefined,
    events: (events) => void told.push(events.map((event) => `${event.event} ${event.data}`).join(", ")),
    poll: () => {
      told.push("asks");
      return ask();
    },
  }, () => 0);
  return { connection, told, ids, streams };
}

const refuse = (status: number, code: string, headers: Record<string, string> = {}) => (): Response =>
  new Response(JSON.stringify({ error: { code, message: code, type: "t" } }), { status, headers });

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const event = (id: number, name = "state"): string => `event: ${name}\nid: ${id}.a.0\ndata: ${id}\n\n`;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a stream", () => {
  test("tells of events, those of a piece together", async () => {
    const { connection, told, streams } = page("stream");
    connection.start();
    connection.start(); // once is enough
    await pass(0);
    streams[0]?.send(event(1) + event(2));
    await pass(0);
    streams[0]?.send(event(3));
    await pass(timing.patience);
    expect(told).toEqual(["connecting", "live", "state 1, state 2", "state 3"]);
    connection.stop();
  });

  test("that ends is gone on with where it ended", async () => {
    const { connection, told, ids, streams } = page("stream", "stream");
    connection.start();
    await pass(0);
    streams[0]?.send(event(7) + "event: state\nid: 8.a.0\nda");
    await pass(0);
    streams[0]?.end();
    await pass(timing.retryFirst);
    streams[1]?.send(event(8));
    await pass(timing.patience);
    expect(ids).toEqual(["", "7.a.0"]);
    expect(told).toEqual(["connecting", "live", "state 7", "connecting", "live", "state 8"]);
    connection.stop();
  });

  test("that gives no sign of life is given up", async () => {
    const { connection, told, streams } = page("stream", "stream");
    connection.start();
    await pass(0);
    streams[0]?.send(event(1));
    await pass(timing.silence - 1);
    streams[0]?.send(": \n");
    await pass(timing.silence - 1);
    expect(told.at(-1)).toBe("state 1");
    await pass(1);
    expect(told.at(-1)).toBe("connecting");
    await pass(timing.retryFirst);
    expect(streams).toHaveLength(2);
    connection.stop();
  });

  test("that opens and tells nothing is no stream: the page asks", async () => {
    const { connection, told, streams } = page("stream");
    connection.start();
    await pass(0);
    streams[0]?.send(": \n"); // alive, and that is all
    await pass(timing.patience);
    expect(told).toEqual(["connecting", "polling", "asks"]);
    connection.stop();
  });
});

describe("without a stream", () => {
  test("the page asks every 30 seconds, and tries again more and more seldom", async () => {
    const { connection, told, ids } = page();
    connection.start();
    await pass(timing.patience + 2 * timing.pollEvery);
    expect(told).toEqual(["connecting", "polling", "asks", "polling", "asks", "polling", "asks"]);
    expect(ids).toHaveLength(7); // at 0, 1, 3, 7, 15, 31 and 61 seconds
    connection.stop();
  });

  test("it does not ask again before the last answer has come", async () => {
    const done: (() => void)[] = [];
    const { connection, told } = pageThatAsks(() => new Promise((resolve) => done.push(resolve)));
    const asks = (): number => told.filter((word) => word === "asks").length;
    connection.start();
    await pass(timing.patience + 3 * timing.pollEvery);
    expect(asks()).toBe(1);
    done[0]?.();
    await pass(0);
    expect(asks()).toBe(2);
    connection.stop();
    done[1]?.();
    await pass(3 * timing.pollEvery);
    expect(asks()).toBe(2); // and who has stopped does not go on with it
  });

  test("a stream that begins while it asks ends the asking", async () => {
    const done: (() => void)[] = [];
    const down = new Error("down");
    const { connection, told, streams } = pageThatAsks(() => new Promise((resolve) => done.push(resolve)), down, down, down, "stream");
    connection.start();
    await pass(7_000);
    streams[0]?.send(event(1));
    await pass(0);
    done[0]?.();
    await pass(timing.silence - 1);
    expect(told).toEqual(["connecting", "polling", "asks", "live", "state 1"]);
    connection.stop();
  });

  test("a new stream ends the asking", async () => {
    const { connection, told, streams } = page(new Error("down"), new Error("down"), new Error("down"), "stream");
    connection.start();
    await pass(7_000);
    streams[0]?.send(event(1));
    await pass(timing.pollEvery);
    expect(told).toEqual(["connecting", "polling", "asks", "live", "state 1"]);
    connection.stop();
  });

  test("after a stream it begins to try as often as at first", async () => {
    const down = new Error("down");
    const { connection, ids, streams } = page(down, down, down, "stream", "stream");
    connection.start();
    await pass(7_000);
    streams[0]?.send(event(1));
    await pass(0);
    streams[0]?.end();
    await pass(timing.retryFirst);
    expect(ids).toHaveLength(5);
    connection.stop();
  });

  test("it waits as long as the engine says", async () => {
    const { connection, ids } = page(refuse(503, "too-many-streams", { "Retry-After": "9" }), "stream");
    connection.start();
    await pass(8_999);
    expect(ids).toHaveLength(1);
    await pass(1);
    expect(ids).toHaveLength(2);
    connection.stop();
  });

  test("an id of another engine is forgotten", async () => {
    const { connection, ids, streams } = page("stream", refuse(400, "invalid"), "stream");
    connection.start();
    await pass(0);
    streams[0]?.send(event(7));
    await pass(0);
    streams[0]?.end();
    await pass(timing.retryFirst * 3);
    expect(ids).toEqual(["", "7.a.0", ""]);
    connection.stop();
  });

  test("who needs a token is not asked again", async () => {
    const { connection, told, ids } = page(refuse(401, "unauthorized"));
    connection.start();
    await pass(10 * timing.pollEvery);
    expect(told).toEqual(["connecting", "refused"]);
    expect(ids).toHaveLength(1);
  });
});

describe("a page that nobody looks at", () => {
  test("lets go after a minute, and goes on when it is seen", async () => {
    const { connection, told, ids, streams } = page("stream", "stream");
    connection.start();
    await pass(0);
    streams[0]?.send(event(7));
    connection.seen(false);
    for (let i = 0; i < 3; i++) {
      await pass(timing.hiddenFor / 3 - 1);
      streams[0]?.send(": \n");
    }
    expect(told.at(-1)).toBe("state 7");
    await pass(3);
    expect(told.at(-1)).toBe("paused");
    await pass(10 * timing.pollEvery);
    expect(ids).toHaveLength(1);
    connection.seen(true);
    await pass(0);
    streams[1]?.send(event(8));
    await pass(0);
    expect(ids).toEqual(["", "7.a.0"]);
    expect(told.slice(-3)).toEqual(["connecting", "live", "state 8"]);
    connection.stop();
  });

  test("keeps its stream when it is seen again soon", async () => {
    const { connection, told, streams } = page("stream");
    connection.start();
    await pass(0);
    streams[0]?.send(event(1));
    connection.seen(false);
    await pass(timing.silence - 1);
    streams[0]?.send(": \n");
    connection.seen(true);
    await pass(timing.silence - 1);
    expect(told).toEqual(["connecting", "live", "state 1"]);
    connection.stop();
  });
});

test("who has stopped is told nothing more", async () => {
  const { connection, told } = page(new Error("down"));
  connection.start();
  await pass(0);
  connection.stop();
  await pass(10 * timing.pollEvery);
  expect(told).toEqual(["connecting"]);
});
