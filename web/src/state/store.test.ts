import { effect } from "@preact/signals";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ApiError } from "../api/error";
import type { Pool, Usage } from "../api/types";
import { kept, Store } from "./store";

const pool = (id: string, name = id): Pool => ({ id, name }) as Pool;
const usage = (poolId: string, generatedAt: string): Usage => ({ poolId, generatedAt }) as Usage;
const event = (name: string, document: unknown) => ({ event: name, id: "1.a.0", data: JSON.stringify(document) });
const counts = { folded: 1, duplicates: 0, rejected: 0, late: 0, clamped: 0 };
const state = { appliedSeq: 4, lastSeq: 4, lagMs: 0, counts };

describe("usage", () => {
  test("of one pool draws that pool alone", () => {
    const store = new Store();
    const drawn: string[] = [];
    effect(() => void drawn.push(`a ${store.usage("a").value?.generatedAt ?? "-"}`));
    effect(() => void drawn.push(`b ${store.usage("b").value?.generatedAt ?? "-"}`));
    store.take([event("usage", { usage: usage("a", "2026-09-21T14:00:00.000Z") })]);
    expect(drawn).toEqual(["a -", "b -", "a 2026-09-21T14:00:00.000Z"]);
  });

  test("of an engine whose clock was set back is the newest all the same", () => {
    const store = new Store();
    store.setUsage(usage("a", "2026-09-21T14:00:01.000Z"));
    store.setUsage(usage("a", "2026-09-21T13:00:00.000Z"));
    expect(store.usage("a").value?.generatedAt).toBe("2026-09-21T13:00:00.000Z");
  });

  test("goes with its pool, and comes with a new one of that id", () => {
    const store = new Store();
    store.setPools([pool("a"), pool("b")]);
    store.setUsage(usage("a", "2026-09-21T14:00:01.000Z"));
    store.setPools([pool("b")]);
    expect(store.usage("a").value).toBeNull();
    store.setUsage(usage("a", "2026-09-21T14:00:00.000Z"));
    expect(store.usage("a").value).not.toBeNull();
  });

  test("keeps the digits of the stream", () => {
    const store = new Store();
    store.take([{ event: "usage", id: "", data: '{"usage":{"poolId":"a","generatedAt":"x","dimensions":[{"limit":9007199254740993}]}}' }]);
    expect(store.usage("a").value?.dimensions[0]?.limit).toBe("9007199254740993");
  });
});

describe("pools", () => {
  test("that are the same stay the same", () => {
    const store = new Store();
    store.setPools([pool("a"), pool("b")]);
    const [a, b] = store.pools.value ?? [];
    store.trouble.value = new ApiError("not-ready", "m");
    store.setPools([pool("a"), pool("b", "new")]);
    expect(store.pools.value?.[0]).toBe(a);
    expect(store.pools.value?.[1]).not.toBe(b);
    expect(store.trouble.value).toBeNull();
  });

  test("stand beside their usage", () => {
    const store = new Store();
    store.setPools([pool("a"), pool("b")]);
    store.setUsage(usage("b", "2026-09-21T14:00:00.000Z"));
    expect(store.all.value.map(({ pool, usage }) => [pool.id, usage !== null])).toEqual([["a", false], ["b", true]]);
  });
});

describe("what the stream tells", () => {
  test("a change is kept once, and asks for the pools", () => {
    const store = new Store();
    const change = event("config", { seq: 7, time: "t", kind: "pool", id: "a", change: "put" });
    expect([store.take([change]), store.take([change])]).toEqual([true, false]);
    expect(store.changes.value.map((c) => c.seq)).toEqual([7]);
  });

  test("a change that was refused changes nothing", () => {
    const store = new Store();
    const refused = event("config", { seq: 7, time: "t", rejected: { reason: "config-invalid", message: "m" } });
    expect(store.take([refused])).toBe(false);
    expect(store.changes.value).toHaveLength(1);
  });

  test("the newest blocks are first, and not without end", () => {
    const store = new Store();
    for (let i = 0; i < kept + 5; i++) store.take([event("decision", { seq: i })]);
    expect([store.blocks.value[0]?.seq, store.blocks.value.length]).toEqual([kept + 4, kept]);
  });

  test("a gap is said, and asks for the pools when changes are missing", () => {
    const store = new Store();
    expect(store.take([event("gap", { event: "decision", message: "rows are missing" })])).toBe(false);
    expect(store.missed.value).toBe("rows are missing");
    expect(store.take([event("gap", { event: "config", message: "m" })])).toBe(true);
  });

  test("behind a gap the changes of another log are new, whatever their numbers", () => {
    const store = new Store();
    const change = (id: string) => event("config", { seq: 7, time: "t", kind: "pool", id, change: "put" });
    store.take([change("old"), event("gap", { event: "decision", message: "m" })]);
    expect(store.changes.value).toHaveLength(1); // no change is missing
    expect(store.take([event("gap", { event: "config", message: "m" })])).toBe(true);
    expect(store.take([change("new")])).toBe(true);
    expect(store.changes.value.map((known) => known.id)).toEqual(["new"]);
  });

  test("an engine that catches up asks for the pools once", () => {
    const store = new Store();
    expect(store.take([event("state", { ready: false, error: { message: "the store is opened" } })])).toBe(false);
    expect(store.engine.value).toEqual({ kind: "stateless", message: "the store is opened" });
    expect(store.take([event("state", { ready: false, ...state })])).toBe(false);
    expect(store.engine.value.kind).toBe("catching-up");
    expect(store.take([event("state", { ready: true, ...state })])).toBe(true);
    expect(store.take([event("state", { ready: true, ...state })])).toBe(false);
  });

  test("what a later engine tells is left", () => {
    expect(new Store().take([event("weather", {})])).toBe(false);
  });
});

describe("the clock", () => {
  const noon = Date.parse("2026-09-21T12:00:00.000Z");
  beforeEach(() => void vi.useFakeTimers({ now: noon }));
  afterEach(() => void vi.useRealTimers());

  const clockAfter = (...told: string[]): number => {
    const store = new Store();
    for (const time of told) store.setUsage(usage(time, time));
    store.tick();
    store.heard();
    expect(store.heardAt.value).toBe(store.now.value);
    return store.now.value - noon;
  };

  test.each([
    ["is the browser's at first", [], 0],
    ["is the browser's when the engine's is nearly the same", ["2026-09-21T11:59:58.500Z"], 0],
    ["is the engine's when that is ahead", ["2026-09-21T12:05:00.000Z"], 300_000],
    ["is the engine's when that is behind", ["2026-09-21T11:00:00.000Z"], -3_600_000],
    ["goes by the newest word", ["2026-09-21T12:05:00.000Z", "2026-09-21T12:04:50.000Z"], 300_000],
  ])("%s", (_, told, want) => expect(clockAfter(...told)).toBe(want));
});
