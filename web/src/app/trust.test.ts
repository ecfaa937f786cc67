import { expect, test } from "vitest";
import { ApiError } from "../api/error";
import type { Link } from "../live/connection";
import type { Engine } from "../state/store";
import { nbsp } from "../words/amount";
import { freshness, lag, refused } from "./trust";

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
