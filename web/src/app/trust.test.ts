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
  expect(plain(freshness({ link, heardAt, now }, "UTC"))).toEqual([tone, text]);
});

test.each<[Engine, string, string]>([
  [{ kind: "unknown" }, "quiet", "not heard yet"],
  [{ kind: "stateless", message: "the store is opened" }, "warn", "not counted: the store is opened"],
  [engine({ kind: "catching-up", lastSeq: 12 }), "warn", "3 messages to go"],
  [engine({}), "quiet", "all counted"],
  [engine({ lagMs: 250 }), "quiet", "250 ms behind"],
  [engine({ lagMs: 5000 }), "quiet", "5 s behind"],
  [engine({ lagMs: 61_000 }), "warn", "1 min 1 s behind"],
])("events: %o", (of, tone, text) => expect(plain(lag(of))).toEqual([tone, text]));

test.each<[Engine, string, string]>([
  [{ kind: "unknown" }, "quiet", "not known yet"],
  [engine({}), "quiet", "none"],
  [engine({ counts: { ...counts, rejected: 2 } }), "warn", "2 events"],
])("rejected: %o", (of, tone, text) => expect(plain(refused(of))).toEqual([tone, text]));

describe("pools", () => {
  const pool = (mode: Pool["mode"], enforcing = true, id = "p"): Pool => ({ id, mode, enforcing }) as Pool;

  test("enforce, observe or do nothing", () => {
    expect(modes([]).text).toBe("none");
    expect(plain(modes([pool("off"), pool("enforce"), pool("observe"), pool("enforce")]))).toEqual(["quiet", "2 enforce, 1 observes, 1 off"]);
  });

  test("that enforce nothing are told of, unless they are off, and one is named", () => {
    expect(plain(powerless([pool("enforce"), pool("off", false)]))).toEqual(["quiet", "none"]);
    const one = powerless([pool("enforce"), pool("enforce", false, "q")]);
    expect([plain(one), one.poolId]).toEqual([["warn", "1 pool"], "q"]);
    const two = powerless([pool("observe", false), pool("enforce", false)]);
    expect([plain(two), two.poolId]).toEqual([["warn", "2 pools"], undefined]);
  });
});

describe("readings", () => {
  const of = (...signals: Partial<Signal>[]) => [{ pool: { id: "team" } as Pool, usage: { signals } as Usage }];

  test("are as old as the oldest that stands", () => {
    const at = (time: string, signal: Signal["signal"]) => ({ observedAt: `2026-09-21T${time}Z`, signal });
    expect(readingAge(of(at("09:00:00", "none")), now).text).toBe("none stands");
    expect(plain(readingAge(of(at("09:00:00", "none"), at("13:58:00", "fresh"), at("13:30:00", "fresh")), now))).toEqual(["quiet", "30 min ago"]);
  });

  test("that no key caused are told of by the largest", () => {
    expect(plain(byNoKey(of({ unattributed: "0.099999" }, { unattributed: null })))).toEqual(["quiet", "nothing"]);
    const most = byNoKey(of({ connectionId: "a", unattributed: 3 }, { connectionId: "b", window: "weekly", unattributed: "4.25" }, { connectionId: "c", unattributed: 4 }));
    expect([plain(most), most.poolId]).toEqual([["warn", "4.2 points of b, weekly window"], "team"]);
    expect(plain(byNoKey(of({ connectionId: "a", window: "5h", scope: "opus", unattributed: 3 })))).toEqual(["warn", "3 points of a, 5-hour window of opus"]);
  });
});

test.each([[0, 0, "quiet", "nothing"], [1, 0, "warn", "1 connection"], [0, 2, "warn", "2 keys"], [2, 1, "warn", "2 connections, 1 key"]])(
  "%i connections and %i keys outside", (connections, keys, tone, text) => expect(plain(outside({ connections, keys }))).toEqual([tone, text]),
);

test.each([[null, "quiet", "not told"], [0, "quiet", "none"], [2, "warn", "2 answers"]])("%s answers that were not sure", (n, tone, text) => expect(plain(unsure(n))).toEqual([tone, text]));

test("what was not asked yet is not known", () => expect(plain(outside(null))).toEqual(["quiet", "not known yet"]));

test("what is not known yet is not said to be none", () => {
  const unread = [{ pool: { id: "p" } as Pool, usage: null }];
  const facts = [modes(null), powerless(null), readingAge(null, now), readingAge(unread, now), byNoKey(null), byNoKey(unread)];
  expect(facts.map(plain)).toEqual(facts.map(() => ["quiet", "not known yet"]));
  const known = { pool: { id: "q" } as Pool, usage: { signals: [{ connectionId: "a", window: "5h", unattributed: 3, signal: "fresh", observedAt: "2026-09-21T13:30:00Z" }] } as unknown as Usage };
  expect(plain(byNoKey([...unread, known]))).toEqual(["warn", "3 points of a, 5-hour window"]);
  expect(plain(readingAge([...unread, known], now))).toEqual(["quiet", "30 min ago"]); // a pool that is new hides none
});
