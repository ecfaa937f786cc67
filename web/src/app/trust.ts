/** How far what is on the page can be trusted, in words. */
import type { Pool } from "../api/types";
import type { Link } from "../live/connection";
import type { Known as KnownPool } from "../model/blocked";
import type { Engine } from "../state/store";
import { amount, count } from "../words/amount";
import { compare } from "../words/decimal";
import { windowNoun } from "../words/terms";
import { clock, duration, instant, relative, second } from "../words/time";
import type { Said } from "../words/verdict";

/** Signs of life come every 15 seconds. */
const oldAfter = 40 * second;

interface Known {
  readonly link: Link;
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

/** One thing that is always told, also when it is as it should be: so nothing moves when it is not. */
export interface Fact extends Said {
  readonly name: string;
  /** What it is about, where there is such. */
  readonly poolId?: string;
}

const fine = (name: string, text: string): Fact => ({ name, tone: "quiet", text });
const amiss = (name: string, text: string): Fact => ({ name, tone: "warn", text });

/** How far the engine is behind what gateways have published. */
export function lag(engine: Engine): Fact {
  const name = "Events";
  switch (engine.kind) {
    case "unknown":
      return fine(name, "not heard yet");
    case "stateless":
      return amiss(name, `not counted: ${engine.message}`);
    case "catching-up":
      return amiss(name, `${count(engine.lastSeq - engine.appliedSeq, "message")} to go`);
    case "ready":
      if (engine.lagMs === 0) return fine(name, "all counted");
      return { name, tone: engine.lagMs > 5 * second ? "warn" : "quiet", text: `${duration(engine.lagMs)} behind` };
  }
}

/** How many events could not be counted. */
export function refused(engine: Engine): Fact {
  const name = "Rejected";
  if (!("counts" in engine)) return fine(name, "not known yet");
  return engine.counts.rejected === 0 ? fine(name, "none") : amiss(name, count(engine.counts.rejected, "event"));
}

/** What is not known is not none. */
const unknown = (name: string): Fact => fine(name, "not known yet");

/** Whether nothing may be said to be none: of some pool it is not known. */
const incomplete = (all: readonly KnownPool[] | null): boolean => all === null || all.some(({ usage }) => usage === null);

/** How many pools block, how many only note, and how many do nothing; null while they are not known. */
export function modes(pools: readonly Pool[] | null): Fact {
  if (!pools) return unknown("Pools");
  const words = [["enforce", "enforces"], ["observe", "observes"], ["off", "off"]] as const;
  const told = words.flatMap(([mode, one]) => {
    const n = pools.filter((pool) => pool.mode === mode).length;
    return n === 0 ? [] : [count(n, one, mode)];
  });
  return fine("Pools", told.join(", ") || "none");
}

/** How many pools would block, and know nothing that they could hold anybody to; null while they are not known. */
export function powerless(pools: readonly Pool[] | null): Fact {
  const name = "Enforcing nothing";
  if (!pools) return unknown(name);
  const found = pools.filter((pool) => pool.mode !== "off" && !pool.enforcing);
  const [first] = found;
  return first ? { ...amiss(name, count(found.length, "pool")), ...(found.length === 1 ? { poolId: first.id } : {}) } : fine(name, "none");
}

/** How old the oldest reading is that still counts; null while no pool is known. */
export function readingAge(all: readonly KnownPool[] | null, now: number): Fact {
  const name = "Oldest reading";
  const times = (all ?? []).flatMap(({ usage }) => usage?.signals ?? []).filter((s) => s.signal === "fresh").map((s) => instant(s.observedAt));
  if (times.length === 0 && incomplete(all)) return unknown(name);
  return fine(name, times.length === 0 ? "none stands" : relative(Math.min(...times), now));
}

/** Parts of keys are cut off: what that leaves of a point is nobody's, and nobody's concern. */
const least = 0.1;

/** The most of one window that no key caused. Windows are not summed: their points are of different limits. null while no pool is known. */
export function byNoKey(all: readonly KnownPool[] | null): Fact {
  const name = "Used by no key";
  const rows = (all ?? [])
    .flatMap(({ pool, usage }) => (usage?.signals ?? []).map((s) => ({ poolId: pool.id, of: `${s.connectionId}, ${windowNoun(s.window)}${s.scope === undefined ? "" : ` of ${s.scope}`}`, points: s.unattributed ?? 0 })))
    .filter((row) => compare(row.points, least) >= 0);
  const most = rows.reduce<(typeof rows)[number] | null>((best, row) => (compare(row.points, best?.points ?? 0) > 0 ? row : best), null);
  if (!most && incomplete(all)) return unknown(name);
  return most ? { ...amiss(name, `${amount(most.points, "percent")} of ${most.of}`), poolId: most.poolId } : fine(name, "nothing");
}

export interface Outside {
  readonly connections: number;
  readonly keys: number;
}

/** What was seen and is in no pool; null while that was not asked. */
export function outside(seen: Outside | null): Fact {
  const name = "Outside of pools";
  if (!seen) return fine(name, "not known yet");
  const told = [seen.connections > 0 && count(seen.connections, "connection"), seen.keys > 0 && count(seen.keys, "key")].filter((text) => text !== false);
  return told.length === 0 ? fine(name, "nothing") : amiss(name, told.join(", "));
}

/** How often the engine let pass what it was not sure of; null when it does not tell. */
export function unsure(n: number | null): Fact {
  const name = "Let pass unsure";
  if (n === null) return fine(name, "not told");
  return n === 0 ? fine(name, "none") : amiss(name, count(n, "answer"));
}
