/** The stretch of history that a slider runs over, and what happened on it. */
import type { Asked, Estimate, ExplainQuestion, RecordedDecision } from "../api/answers";
import { day, hour, instant, second } from "../words/time";
import { units } from "../words/units";

export interface Stretch {
  readonly from: number;
  readonly to: number;
  /** How far one step of the slider goes, in milliseconds. */
  readonly step: number;
}

const lengths: Readonly<Record<string, number>> = { hour, "6h": 6 * hour, day, week: 7 * day, fortnight: 14 * day };

/** The name of the length that is all there is. */
export const whole = "all";

/** How many steps a slider has at most: more than any screen has points for it. */
const steps = 3_600;

/**
 * How far a slider may reach, each length by its name: those that are shorter than the
 * history, and all of it. since is where that begins, null when nobody knows.
 */
export function lengthsOf(since: number | null, now: number): Readonly<Record<string, number>> {
  if (since === null) return lengths;
  const all = Math.max(second, now - since);
  return { ...Object.fromEntries(Object.entries(lengths).filter(([, ms]) => ms < all)), [whole]: all };
}

/**
 * A stretch of so many milliseconds that has the instant: up to now if it can, else
 * around it. It has nothing from before the history begins.
 */
export function stretchOf(at: number, now: number, ms: number, since: number | null = null): Stretch {
  const to = at > now - ms ? Math.max(at, now) : at + ms / 2;
  const from = Math.min(to - second, Math.max(to - ms, since ?? -Infinity));
  return { from, to, step: Math.max(second, Math.floor((to - from) / steps)) };
}

/** The shortest length, from the usual one on, that reaches back to the instant; the longest when none does. */
export function lengthFor(at: number, now: number, since: number | null = null): string {
  const all = Object.entries(lengthsOf(since, now));
  const usual = all.filter(([name]) => name !== "hour");
  return (usual.find(([, ms]) => now - at < ms) ?? usual.at(-1) ?? all[0])?.[0] ?? whole;
}

/** Why an instant cannot be asked about; "" when it can. */
export function outside(at: number, now: number, since: number | null): "" | "early" | "late" {
  if (since !== null && at < since) return "early";
  return at > now ? "late" : "";
}

export interface Cell {
  /** Where it stands, 0 to 1. */
  readonly place: number;
  readonly blocked: number;
  readonly wouldBlock: number;
  readonly allowed: number;
}

/** What was answered along the stretch, in so many cells; those with nothing are left out. */
export function cells(rows: readonly RecordedDecision[], { from, to }: Stretch, n: number): Cell[] {
  const found = new Map<number, Cell>();
  for (const row of rows) {
    const place = Math.floor(((instant(row.time) - from) / (to - from)) * n);
    if (place < 0 || place >= n) continue;
    const before = found.get(place) ?? { place: place / n, blocked: 0, wouldBlock: 0, allowed: 0 };
    found.set(place, { ...before, [kindOf(row)]: before[kindOf(row)] + row.count });
  }
  return [...found.values()].sort((a, b) => a.place - b.place);
}

function kindOf({ reply }: RecordedDecision): "blocked" | "wouldBlock" | "allowed" {
  if (reply.decision === "block") return "blocked";
  return reply.wouldBlock ? "wouldBlock" : "allowed";
}

/** The nearest recorded decision before the instant, and the nearest behind it; null where there is none. */
export function neighbours(rows: readonly RecordedDecision[], at: number): { before: RecordedDecision | null; behind: RecordedDecision | null } {
  let before: RecordedDecision | null = null;
  let behind: RecordedDecision | null = null;
  for (const row of rows) {
    const time = instant(row.time);
    if (time < at && (!before || time > instant(before.time))) before = row;
    if (time > at && (!behind || time < instant(behind.time))) behind = row;
  }
  return { before, behind };
}

/** The question that an address asks, null while it lacks something. At is "" for now. */
export function questionOf(query: Readonly<Record<string, string>>, now: number): ExplainQuestion | null {
  const { decision, key, connection, pool, model, at } = query;
  if (decision) return { decisionId: decision };
  if (!key || !(connection || pool)) return null;
  const estimate = estimateOf(query);
  return {
    apiKeyId: key,
    ...(connection ? { connectionId: connection } : { pool: pool as string }),
    ...(model ? { model } : {}),
    ...(Object.keys(estimate).length > 0 ? { estimate } : {}),
    at: new Date(instantOf(at) ?? now).toISOString(),
  };
}

/** What the request would use, as it was typed: the engine judges that. */
export function estimateOf(query: Readonly<Record<string, string>>): Estimate {
  const typed = units.map((unit) => [unit, query[unit]?.trim() ?? ""] as const);
  return Object.fromEntries(typed.filter(([, amount]) => amount !== ""));
}

/** What a form shows of a question: each part under the name that it has in an address. */
export function namedBy({ apiKeyId, connectionId, pool, model, estimate = {} }: Asked): Record<string, string> {
  const amounts = Object.entries(estimate).map(([unit, amount]) => [unit, String(amount)] as const);
  const all = { key: apiKeyId, connection: connectionId, pool: connectionId ? undefined : pool, model, ...Object.fromEntries(amounts) };
  return Object.fromEntries(Object.entries(all).filter((part): part is [string, string] => !!part[1]));
}

/** The instant that an address or a field names; null for none. */
export function instantOf(text: string | undefined): number | null {
  if (!text) return null;
  const ms = /^\d+$/.test(text) ? Number(text) : Date.parse(text);
  return Number.isFinite(ms) && Math.abs(ms) <= 8.64e15 ? ms : null;
}

/** "2026-09-21T14:05:09" in the zone of the reader, as a field for date and time wants it. */
export function localInput(at: number): string {
  const d = new Date(at);
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${String(d.getFullYear()).padStart(4, "0")}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}
