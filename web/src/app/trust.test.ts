import { describe, expect, test } from "vitest";
import { ApiError } from "../api/error";
import type { Pool, Signal, Usage } from "../api/types";
import type { Link } from "../live/connection";
import type { Engine } from "../state/store";
import { nbsp } from "../words/amount";
import { byNoKey, freshness, lag, modes, outside, powerless, readingAge, refused, unsure } from "./trust";

const now = Date.parse("2026-09-21T14:00:00Z");
const why = new ApiError("unreachable", "m");
const plain = (said: { tone: string; text: string } | null) => said && [said.tone, said.text.replaceAll(nbsp, " ")];
const counts = { folded: 9, duplicates: 0, rejected: 0, late: 0, clamped: 0 };
const engine = (change: object): Engine => ({ kind: "ready", appliedSeq: 9, lastSeq: 9, lagMs: 0, counts, ...change }) as Engine;

test.each<[Link, number | null, string, string]>([
  [{ kind: "live" }, 0, "good", "Live"],
  [{ kind: "live" }, 40, "good", "Live"],
  [{ kind: "live" }, 41, "warn", "No sign of life: numbers are of 13:59:19, 41 s ago"],
  [{ kind: "connecting" }, null, "quiet", "Connecting"],
  [{ kind: "connecting" }, 3, "quiet", "Connecting again: numbers are of 13:59:57, 3 s ago"],
  [{ kind: "polling", why }, 20, "warn", "No stream, asking every 30 s: numbers are of 13:59:40, 20 s ago"],
  [{ kind: "polling", why }, 180, "bad", "The engine does not answer: numbers are of 13:57:00, 3 min ago"],
  [{ kind: "polling", why }, null, "bad", "The engine does not answer: nothing was heard yet"],
  [{ kind: "paused" }, 90, "quiet", "Paused: numbers are of 13:58:30, 1 min ago"],
  [{ kind: "refused", why }, null, "bad", "The engine asks for a token"],
])("%o heard %s s ago", (link, ago, tone, text) => {
  const heardAt = ago === null ? null : now - ago * 1000;
  expect(plain(freshness({ link, heardAt, now, engine: { kind: "unknown" } }, "UTC"))).toEqual([tone, text]);
});

test.each<[Engine, string, string]>([
  [{ kind: "unknown" }, "quiet", "engine not heard yet"],
  [{ kind: "stateless", message: "the store is opened" }, "warn", "engine not ready: the store is opened"],
  [engine({ kind: "catching-up", lastSeq: 12 }), "warn", "engine catching up: 3 messages to go"],
  [engine({}), "quiet", "every event is counted"],
  [engine({ lagMs: 250 }), "quiet", "250 ms behind the events"],
  [engine({ lagMs: 61_000 }), "warn", "1 min 1 s behind the events"],
])("%o", (of, tone, text) => expect(plain(lag(of))).toEqual([tone, text]));

test("rejected events are told of when there are any", () => {
  expect(refused({ kind: "unknown" })).toBeNull();
  expect(refused(engine({}))).toBeNull();
  expect(plain(refused(engine({ counts: { ...counts, rejected: 2 } })))).toEqual(["warn", "2 events rejected"]);
});

describe("pools", () => {
  const pool = (mode: Pool["mode"], enforcing = true): Pool => ({ mode, enforcing }) as Pool;

  test("enforce, observe or do nothing", () => {
    expect(modes([])).toBeNull();
    expect(plain(modes([pool("off"), pool("enforce"), pool("observe"), pool("enforce")]))).toEqual(["quiet", "pools: 2 enforce, 1 observes, 1 off"]);
  });

  test("that enforce nothing are told of, unless they are off", () => {
    expect(powerless([pool("enforce"), pool("off", false)])).toBeNull();
    expect(plain(powerless([pool("enforce", false)]))).toEqual(["warn", "1 pool enforces nothing"]);
    expect(plain(powerless([pool("observe", false), pool("enforce", false)]))).toEqual(["warn", "2 pools enforce nothing"]);
  });
});

describe("readings", () => {
  const of = (...signals: Partial<Signal>[]) => [{ pool: { id: "team" } as Pool, usage: { signals } as Usage }, { pool: { id: "new" } as Pool, usage: null }];

  test("are as old as the oldest that stands", () => {
    const at = (time: string, signal: Signal["signal"]) => ({ observedAt: `2026-09-21T${time}Z`, signal });
    expect(readingAge(of(at("09:00:00", "none")), now)).toBeNull();
    expect(plain(readingAge(of(at("09:00:00", "none"), at("13:58:00", "fresh"), at("13:30:00", "fresh")), now))).toEqual(["quiet", "oldest reading 30 min ago"]);
  });

  test("that no key caused are told of by the largest", () => {
    expect(byNoKey(of({ unattributed: "0.099999" }, { unattributed: null }))).toBeNull();
    const most = byNoKey(of({ connectionId: "a", unattributed: 3 }, { connectionId: "b", unattributed: "4.25" }, { connectionId: "c", unattributed: 4 }));
    expect([plain(most), most?.poolId]).toEqual([["warn", "4.2 points of b by no key"], "team"]);
  });
});

test.each([[0, 0, null], [1, 0, "1 connection outside of every pool"], [0, 2, "2 keys outside of every pool"], [2, 1, "2 connections and 1 key outside of every pool"]])(
  "%i connections and %i keys outside", (connections, keys, want) => expect(plain(outside({ connections, keys }))?.[1] ?? null).toBe(want),
);

test.each([[null, null], [0, null], [2, "2 answers let pass without being sure"]])("%s answers that were not sure", (n, want) => expect(plain(unsure(n))?.[1] ?? null).toBe(want));
