/**
 * What the page knows, as signals: who reads one is drawn again when it
 * changes, and nobody else is. Usage is one signal for each pool, because fifty
 * pools that change every second are fifty cards, not one page.
 */
import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { ApiError } from "../api/error";
import { parseJson } from "../api/json";
import type { Blocked, Change, Pool, State, Usage } from "../api/types";
import type { Link } from "../live/connection";
import type { StreamEvent } from "../live/sse";
import { Clock } from "./clock";

/** How far the engine is, or why that is not known. */
export type Engine =
  | { readonly kind: "unknown" }
  | ({ readonly kind: "ready" | "catching-up" } & State)
  | { readonly kind: "stateless"; readonly message: string };

/** How many blocks and changes are kept: those before are asked for where they are shown. */
export const kept = 500;

export class Store {
  /** The pools in the order of their ids; null until they are known. */
  readonly pools = signal<readonly Pool[] | null>(null);
  readonly engine = signal<Engine>({ kind: "unknown" });
  readonly link = signal<Link>({ kind: "connecting" });
  /** What was blocked since the page was opened, the newest first. */
  readonly blocks = signal<readonly Blocked[]>([]);
  /** What was changed since the page was opened, the newest first. */
  readonly changes = signal<readonly Change[]>([]);
  /** Why blocks may be missing; "" while none is. */
  readonly missed = signal("");
  /** Why the pools could not be read; null when they could. */
  readonly trouble = signal<ApiError | null>(null);
  /** The engine's clock, in epoch milliseconds, a second at a time. */
  readonly now = signal(Date.now());
  /** As now, a minute at a time: for what names no seconds. */
  readonly minute = computed(() => this.now.value - (this.now.value % 60_000));
  /** When the engine was last heard of, by the same clock. */
  readonly heardAt = signal<number | null>(null);
  private readonly clock = new Clock();
  private readonly usages = new Map<string, Signal<Usage | null>>();

  /** The usage of a pool; null until it is known. */
  usage(poolId: string): ReadonlySignal<Usage | null> {
    return this.usageSignal(poolId);
  }

  /** Each pool with its usage. Changes whenever one of them does: for sums, not for cards. */
  readonly all = computed(() => (this.pools.value ?? []).map((pool) => ({ pool, usage: this.usage(pool.id).value })));

  private usageSignal(poolId: string): Signal<Usage | null> {
    const known = this.usages.get(poolId);
    if (known) return known;
    const fresh = signal<Usage | null>(null);
    this.usages.set(poolId, fresh);
    return fresh;
  }

  /** Takes a list of all pools. Those that are the same stay the same object, so that their cards stay as they are. */
  setPools(list: readonly Pool[]): void {
    const before = new Map((this.pools.peek() ?? []).map((pool) => [pool.id, pool]));
    const same = (pool: Pool): Pool => {
      const old = before.get(pool.id);
      return old && JSON.stringify(old) === JSON.stringify(pool) ? old : pool;
    };
    batch(() => {
      this.pools.value = list.map(same);
      this.trouble.value = null;
      const ids = new Set(list.map((pool) => pool.id));
      for (const [id, usage] of this.usages) if (!ids.has(id)) usage.value = null;
    });
  }

  /**
   * Takes the usage of a pool. The last that came is the newest: neither the
   * engine's clock nor its log may go on where it was when it begins again, so
   * to compare them would hold on to numbers for ever.
   */
  setUsage(usage: Usage): void {
    this.usageSignal(usage.poolId).value = usage;
    this.saw(Date.parse(usage.generatedAt));
  }

  setState(state: State, ready = true): void {
    this.engine.value = { kind: ready ? "ready" : "catching-up", ...state };
  }

  /** Something came from the engine just now. */
  heard(): void {
    this.heardAt.value = this.clock.now();
  }

  /** Moves the clock on. Returns whether the browser's was set meanwhile: then the engine is to be asked for its own. */
  tick(): boolean {
    const parted = this.clock.parted();
    this.now.value = this.clock.now();
    return parted;
  }

  /** Takes an instant that the engine told, in an answer to a call of the browser's instant `sent` perhaps. */
  saw(told: number, sent?: number): void {
    this.clock.saw(told, sent);
    const now = this.clock.now();
    if (Math.abs(now - this.now.peek()) > 2_000) this.now.value = now; // what is asked next is not asked of another hour
  }

  /**
   * Takes what the stream told. Returns whether pools, plans or settings have
   * changed, or may have: then the list of pools is to be read again.
   */
  take(events: readonly StreamEvent[]): boolean {
    return batch(() => events.map((event) => this.takeOne(event)).includes(true));
  }

  private takeOne({ event, data }: StreamEvent): boolean {
    const document = parseJson(data);
    switch (event) {
      case "usage":
        this.setUsage((document as { usage: Usage }).usage);
        return false;
      case "state":
        return this.takeState(document as StreamState);
      case "config":
        return this.takeChange(document as Change);
      case "decision":
        this.blocks.value = [document as Blocked, ...this.blocks.peek()].slice(0, kept);
        return false;
      case "gap":
        return this.takeGap(document as { event: string; message: string });
      default:
        return false; // of a later engine
    }
  }

  /** An engine that has just caught up has pools that it could not tell before. */
  private takeState(state: StreamState): boolean {
    const before = this.engine.peek().kind;
    if ("error" in state) this.engine.value = { kind: "stateless", message: state.error.message };
    else this.setState(state, state.ready);
    return state.ready && before !== "ready" && before !== "unknown";
  }

  private takeChange(change: Change): boolean {
    if (this.changes.peek().some((known) => known.seq === change.seq)) return false;
    this.changes.value = [change, ...this.changes.peek()].slice(0, kept);
    return change.rejected === undefined;
  }

  /** Behind a gap of changes there may be another log, whose messages have the numbers of those that are known. */
  private takeGap(gap: { event: string; message: string }): boolean {
    if (gap.event === "decision") this.missed.value = gap.message;
    if (gap.event === "config") this.changes.value = [];
    return gap.event === "config";
  }
}

type StreamState = (State & { ready: boolean }) | { ready: boolean; error: { message: string } };
