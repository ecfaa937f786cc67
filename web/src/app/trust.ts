/** How far what is on the page can be trusted, in words. */
import type { Pool } from "../api/types";
import type { Link } from "../live/connection";
import type { Known as KnownPool } from "../model/blocked";
import type { Engine } from "../state/store";
import { amount, count } from "../words/amount";
import { compare } from "../words/decimal";
import { clock, duration, instant, relative, second } from "../words/time";
import type { Said } from "../words/verdict";

/** Signs of life come every 15 seconds. */
const oldAfter = 40 * second;

interface Known {
  readonly link: Link;
  readonly engine: Engine;
  readonly heardAt: number | null;
  readonly now: number;
}

/** How the page hears of changes, and since when it has not. */
export function freshness({ link, heardAt, now }: Known, zone?: string): Said {
  const old = heardAt === null ? "nothing was heard yet" : `numbers are of ${clock(heardAt, zone)}, ${relative(heardAt, now)}`;
  switch (link.kind) {
    case "live":
      return heardAt !== null && now - heardAt > oldAfter
        ? { tone: "warn", text: `No sign of life: ${old}` }
        : { tone: "good", text: "Live" };
    case "connecting":
      return { tone: "quiet", text: heardAt === null ? "Connecting" : `Connecting again: ${old}` };
    case "polling":
      return heardAt !== null && now - heardAt < oldAfter
        ? { tone: "warn", text: `No stream, asking every 30 s: ${old}` }
        : { tone: "bad", text: `The engine does not answer: ${old}` };
    case "paused":
      return { tone: "quiet", text: `Paused: ${old}` };
    case "refused":
      return { tone: "bad", text: "The engine asks for a token" };
  }
}

/** How far the engine is behind what gateways have published. */
export function lag(engine: Engine): Said {
  switch (engine.kind) {
    case "unknown":
      return { tone: "quiet", text: "engine not heard yet" };
    case "stateless":
      return { tone: "warn", text: `engine not ready: ${engine.message}` };
    case "catching-up":
      return { tone: "warn", text: `engine catching up: ${count(engine.lastSeq - engine.appliedSeq, "message")} to go` };
    case "ready":
      return engine.lagMs === 0
        ? { tone: "quiet", text: "every event is counted" }
        : { tone: engine.lagMs > 5 * second ? "warn" : "quiet", text: `${duration(engine.lagMs)} behind the events` };
  }
}

/** How many events could not be counted; null when there are none. */
export function refused(engine: Engine): Said | null {
  if (!("counts" in engine) || engine.counts.rejected === 0) return null;
  return { tone: "warn", text: `${count(engine.counts.rejected, "event")} rejected` };
}

/** How many pools block, how many only note, and how many do nothing; null where there is none. */
export function modes(pools: readonly Pool[]): Said | null {
  const words = [["enforce", "enforces"], ["observe", "observes"], ["off", "off"]] as const;
  const told = words.flatMap(([mode, one]) => {
    const n = pools.filter((pool) => pool.mode === mode).length;
    return n === 0 ? [] : [count(n, one, mode)];
  });
  return told.length === 0 ? null : { tone: "quiet", text: `pools: ${told.join(", ")}` };
}

/** How many pools would block, and know nothing that they could hold anybody to; null when there are none. */
export function powerless(pools: readonly Pool[]): Said | null {
  const n = pools.filter((pool) => pool.mode !== "off" && !pool.enforcing).length;
  return n === 0 ? null : { tone: "warn", text: `${count(n, "pool")} ${n === 1 ? "enforces" : "enforce"} nothing` };
}

/** How old the oldest reading is that still counts; null where no provider has spoken. */
export function readingAge(all: readonly KnownPool[], now: number): Said | null {
  const times = all.flatMap(({ usage }) => usage?.signals ?? []).filter((s) => s.signal === "fresh").map((s) => instant(s.observedAt));
  return times.length === 0 ? null : { tone: "quiet", text: `oldest reading ${relative(Math.min(...times), now)}` };
}

/** Parts of keys are cut off: what that leaves of a point is nobody's, and nobody's concern. */
const least = 0.1;

export interface Unattributed extends Said {
  readonly poolId: string;
}

/** The most of one window that no key caused; null when keys caused all. Windows are not summed: their points are of different limits. */
export function byNoKey(all: readonly KnownPool[]): Unattributed | null {
  const rows = all
    .flatMap(({ pool, usage }) => (usage?.signals ?? []).map((s) => ({ poolId: pool.id, of: s.connectionId, points: s.unattributed ?? 0 })))
    .filter((row) => compare(row.points, least) >= 0);
  const most = rows.reduce<(typeof rows)[number] | null>((best, row) => (compare(row.points, best?.points ?? 0) > 0 ? row : best), null);
  return most && { tone: "warn", text: `${amount(most.points, "percent")} of ${most.of} by no key`, poolId: most.poolId };
}

export interface Outside {
  readonly connections: number;
  readonly keys: number;
}

/** What was seen and is in no pool; null when there is nothing. */
export function outside({ connections, keys }: Outside): Said | null {
  const told = [connections > 0 && count(connections, "connection"), keys > 0 && count(keys, "key")].filter((text) => text !== false);
  return told.length === 0 ? null : { tone: "warn", text: `${told.join(" and ")} outside of every pool` };
}

/** How often the engine let pass what it was not sure of; null when it never did, or does not tell. */
export function unsure(n: number | null): Said | null {
  return n === null || n === 0 ? null : { tone: "warn", text: `${count(n, "answer")} let pass without being sure` };
}
