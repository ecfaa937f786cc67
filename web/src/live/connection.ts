/**
 * The way from the engine to the page: a stream while there is one, and asking
 * every 30 seconds while there is none. A stream that ends is gone on with
 * where it ended, so nothing is missed when the engine is started again.
 */
import type { Fetch } from "../api/call";
import { ApiError, refusal, unreachable } from "../api/error";
import { parseJson } from "../api/json";
import { newReader, type StreamEvent } from "./sse";

/** How the page hears of changes. */
export type Link =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** There is no stream; the page asks instead. */
  | { readonly kind: "polling"; readonly why: ApiError }
  /** Nobody looks at the page, so nothing is asked. */
  | { readonly kind: "paused" }
  /** A token is needed. */
  | { readonly kind: "refused"; readonly why: ApiError };

export interface Sink {
  link(link: Link): void;
  /** Something came, a sign of life perhaps: what is on the page is as new as now. */
  heard(): void;
  /** Called with the events of one piece of the stream together, so that the page is drawn once. */
  events(events: readonly StreamEvent[]): void;
  /** Asks for all that the stream would have told. */
  poll(): Promise<void>;
}

export const timing = {
  /** The engine gives a sign of life every 15 seconds; after twice that the stream is dead. */
  silence: 35_000,
  /** How long a page may be without a stream before it asks. */
  patience: 5_000,
  pollEvery: 30_000,
  retryFirst: 1_000,
  retryMost: 30_000,
  /** A page that is not seen lets go of its stream: there is room for 256. */
  hiddenFor: 60_000,
};

const path = "/api/quota/stream";

export class Connection {
  private lastId = "";
  private running: AbortController | null = null;
  private polling: ReturnType<typeof setTimeout> | undefined;
  private hiding: ReturnType<typeof setTimeout> | undefined;
  private why = unreachable();

  constructor(
    private readonly fetch: Fetch,
    private readonly sink: Sink,
    /** A number from 0 to 1, so that a hundred pages do not come back at the same instant. */
    private readonly random: () => number = Math.random,
  ) {}

  /** Begins, unless it has begun. */
  start(): void {
    if (this.running) return;
    this.running = new AbortController();
    this.sink.link({ kind: "connecting" });
    this.pollAfter(timing.patience);
    void this.run(this.running.signal);
  }

  /** Hangs up. start goes on where this ended. */
  stop(): void {
    this.running?.abort();
    this.running = null;
    this.endPolling();
    clearTimeout(this.hiding);
  }

  /** Says whether somebody looks at the page. */
  seen(visible: boolean): void {
    clearTimeout(this.hiding);
    if (visible) return this.start();
    this.hiding = setTimeout(() => {
      this.stop();
      this.sink.link({ kind: "paused" });
    }, timing.hiddenFor);
  }

  /** One stream after the other until it is told to stop, or refused. */
  private async run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; ; failures++) {
      const heard = await this.stream(signal);
      if (signal.aborted) return;
      if (this.why.code === "unauthorized") {
        this.stop();
        return this.sink.link({ kind: "refused", why: this.why });
      }
      if (heard) failures = 0;
      await pause(this.wait(failures), signal);
      if (signal.aborted) return;
    }
  }

  /** Doubled after every failure, and spread over a quarter of it. */
  private wait(failures: number): number {
    const ms = Math.min(timing.retryMost, timing.retryFirst * 2 ** failures);
    return Math.max(this.why.retryAfterMs ?? 0, ms * (1 + this.random() / 4));
  }

  /** Reads one stream to its end; true when an event came. */
  private async stream(signal: AbortSignal): Promise<boolean> {
    const one = new AbortController();
    const hangUp = (): void => one.abort();
    signal.addEventListener("abort", hangUp);
    let watch = setTimeout(hangUp, timing.silence);
    let live = false;
    try {
      await this.read(one.signal, (events) => {
        clearTimeout(watch);
        watch = setTimeout(hangUp, timing.silence);
        if (events.length > 0 && !live) live = this.nowLive();
        this.sink.heard();
        if (events.length > 0) this.sink.events(events);
      });
      this.why = new ApiError("unreachable", "the engine ended the stream, as it does when it stops");
    } catch (error) {
      this.why = error instanceof ApiError ? error : unreachable();
    } finally {
      clearTimeout(watch);
      signal.removeEventListener("abort", hangUp);
    }
    if (live && !signal.aborted) this.lost();
    return live;
  }

  private async read(signal: AbortSignal, on: (events: StreamEvent[]) => void): Promise<void> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.lastId) headers["Last-Event-ID"] = this.lastId;
    const response = await this.fetch(path, { headers, cache: "no-store", redirect: "error", signal });
    if (!response.ok || !response.body) throw await this.refused(response);
    let events: StreamEvent[] = [];
    const push = newReader((event) => events.push(event));
    const text = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await text.read();
      if (done) return;
      push(value);
      this.lastId = events.at(-1)?.id ?? this.lastId;
      on(events);
      events = [];
    }
  }

  /** An id that this engine does not read is of another one: the next stream begins anew. */
  private async refused(response: Response): Promise<ApiError> {
    const text = await response.text().catch(() => "");
    if (response.status === 400) this.lastId = "";
    return refusal(response.status, documentOf(text), response.headers.get("Retry-After"));
  }

  private nowLive(): true {
    this.endPolling();
    this.sink.link({ kind: "live" });
    return true;
  }

  private lost(): void {
    this.sink.link({ kind: "connecting" });
    this.pollAfter(timing.patience);
  }

  /** Asks, and again so many seconds later, but not before the last answer: many pools may take long. */
  private async poll(): Promise<void> {
    const mine = this.polling;
    const began = performance.now();
    await this.sink.poll();
    if (this.polling === mine) this.pollAfter(Math.max(0, timing.pollEvery - (performance.now() - began)));
  }

  private endPolling(): void {
    clearTimeout(this.polling);
    this.polling = undefined;
  }

  private pollAfter(ms: number): void {
    clearTimeout(this.polling);
    this.polling = setTimeout(() => {
      this.sink.link({ kind: "polling", why: this.why });
      void this.poll();
    }, ms);
  }
}

function documentOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Waits, and no longer than until the signal. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

