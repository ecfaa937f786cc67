/** Whether what an account may use lasts until it is given anew. */
import type { Amount } from "../api/json";
import type { Signal, UsedDimension, Window } from "../api/types";
import { compare, decimal, digits, percentOf, roughly } from "../words/decimal";
import { day, hour, instant, second } from "../words/time";
import type { Known } from "./blocked";
import { usedUp } from "./health";

/** How long each window is, in milliseconds. */
export const windowMs: Record<Window, number> = {
  hourly: hour,
  "5h": 5 * hour,
  daily: day,
  weekly: 7 * day,
  monthly: 30 * day,
};

/** What becomes of a window. */
export type Outcome =
  /** Nothing is left. */
  | { readonly kind: "gone" }
  /** It will be used up at that instant, in epoch milliseconds, before it starts anew. */
  | { readonly kind: "short"; readonly at: number }
  | { readonly kind: "lasts" }
  /** It is too near to its pace to say, for providers tell whole percents. */
  | { readonly kind: "just" }
  /** Too little of it is over to say. */
  | { readonly kind: "early" };

/** One window of one account, as its provider tells of it. */
export interface Lasting {
  readonly id: string;
  readonly poolId: string;
  readonly connectionId: string;
  readonly window: Window;
  /** Models that it is of; undefined for all. */
  readonly scope: string | undefined;
  /** In percent of the account's limit. */
  readonly used: Amount;
  /** In percent of the window's time. */
  readonly elapsed: Amount;
  readonly resetAt: string;
  readonly observedAt: string;
  readonly outcome: Outcome;
}

/** Below this part of a window one burst looks like a habit. */
const early = 0.02;

/** How much of a percent may have been rounded up. */
const rounded = 0.5;

/**
 * Extends the average pace since the window began: used / (observed − start).
 * The pace of the last minutes would answer another question, whether it lasts if
 * everybody goes on as just now, and changes with every request.
 */
function outcome(used: Amount, start: number, observed: number, reset: number): Outcome {
  if (compare(used, 100) >= 0) return { kind: "gone" };
  if (compare(used, 0) <= 0) return { kind: "lasts" };
  const over = observed - start;
  if (over < early * (reset - start)) return { kind: "early" };
  const endOf = (percent: number): number => start + Math.floor((over * 100) / percent);
  const at = endOf(roughly(used));
  if (at >= reset) return { kind: "lasts" };
  return endOf(roughly(used) - rounded) < reset ? { kind: "short", at } : { kind: "just" };
}

/** null where there is nothing to say: no reading that stands, or a window without an end. */
export function lastingOf(poolId: string, s: Signal, now: number): Lasting | null {
  if (s.window === "rate" || s.signal === "none" || s.usedPercent === null || s.resetAt === null) return null;
  const reset = instant(s.resetAt);
  const length = windowMs[s.window];
  const over = Math.min(Math.max(now - (reset - length), 0), length);
  return {
    id: [s.connectionId, s.window, s.scope ?? ""].join(" "),
    poolId, connectionId: s.connectionId, window: s.window, scope: s.scope,
    used: s.usedPercent, elapsed: percentOf(over, length, 1) ?? "0", resetAt: s.resetAt, observedAt: s.observedAt,
    outcome: outcome(s.usedPercent, reset - length, instant(s.observedAt), reset),
  };
}

/** Every window of every account of which a provider spoke. */
function accounts(all: readonly Known[], now: number): Lasting[] {
  return all.flatMap(({ pool, usage }) => (usage?.signals ?? []).map((signal) => lastingOf(pool.id, signal, now))).filter((row) => row !== null);
}

/** A limit that no provider speaks of: it does not start anew, what is older than its window just counts no more. */
export interface Rolling {
  readonly id: string;
  readonly poolId: string;
  readonly poolName: string;
  readonly dimension: UsedDimension;
  readonly outcome: Projection;
}

/** Every limit of our own that is known. */
function rolling(all: readonly Known[]): Rolling[] {
  return all.flatMap(({ pool, usage }) => {
    if (usage === null) return [];
    const at = instant(usage.asOf.time);
    const told = new Set(usage.signals.map((s) => lastingOf(pool.id, s, at)?.window));
    // Points that no provider has told of are counted as everything else; once one tells, its accounts say more.
    const known = usage.dimensions.filter((d) => d.limit !== null && (d.unit !== "percent" || !told.has(d.window)));
    return known.map((dimension) => ({
      id: [pool.id, dimension.unit, dimension.window].join(" "),
      poolId: pool.id, poolName: pool.name, dimension, outcome: projection(dimension, at),
    }));
  });
}

/** All that may be used up, of whichever kind. */
export type Limit = { readonly kind: "account"; readonly of: Lasting } | { readonly kind: "rolling"; readonly of: Rolling };

/** How bad it is: 0 for what is used up, 1 for what will be, 2 for all else. */
export function urgency({ of: { outcome } }: Limit): 0 | 1 | 2 {
  if (outcome.kind === "gone" || outcome.kind === "used-up") return 0;
  return outcome.kind === "short" || outcome.kind === "ends" || outcome.kind === "may-end" ? 1 : 2;
}

const endOf = ({ of: { outcome } }: Limit): number => ("at" in outcome ? outcome.at : 0);

const usedOf = (limit: Limit): Amount => (limit.kind === "account" ? limit.of.used : (limit.of.dimension.usedPercent ?? 0));

function tighter(a: Limit, b: Limit): number {
  const rank = urgency(a);
  if (rank !== urgency(b)) return rank - urgency(b);
  return (rank === 1 && endOf(a) - endOf(b)) || compare(usedOf(b), usedOf(a));
}

/** Every limit, the tightest first: what is used up, what will be and soonest, then by how much is used. */
export function limits(all: readonly Known[], now: number): Limit[] {
  const both: Limit[] = [...accounts(all, now).map((of): Limit => ({ kind: "account", of })), ...rolling(all).map((of): Limit => ({ kind: "rolling", of }))];
  return both.sort(tighter);
}

/** What becomes of a dimension at the rate of the last hour. */
export type Projection =
  | { readonly kind: "no-data" }
  | { readonly kind: "no-limit" }
  | { readonly kind: "used-up" }
  /** Used up at that instant, or later: what grows old meanwhile counts no more. */
  | { readonly kind: "ends"; readonly at: number }
  /** As ends, unless enough of what is used counts no more by then: a whole window at this rate comes to less than the limit. */
  | { readonly kind: "may-end"; readonly at: number }
  /** Given anew at that instant, before it is used up. */
  | { readonly kind: "reset"; readonly at: number }
  /** Never used up: a whole window at this rate comes to less than the limit. */
  | { readonly kind: "lasts"; readonly most: string };

/**
 * The engine divides what is left by the rate, and cuts that off at the reset, to
 * the millisecond. It leaves out that use grows old, so that is the earliest end.
 * A window counts what was used since its last boundary in full, and less and less
 * of what was used before: what is used now all counts until the next boundary,
 * and from there on the count goes evenly to the rate times the length. Where the
 * limit lies above both, there is no end. Where it lies above the latter alone,
 * it depends on how much is old, which usage does not tell.
 */
export function projection(d: UsedDimension, now: number): Projection {
  if (usedUp(d)) return { kind: "used-up" };
  const ms = d.burnRate.timeToExhaustionMs;
  if (compare(d.burnRate.perSecond, 0) === 0) return { kind: "no-data" };
  if (ms === null || d.limit === null) return { kind: "no-limit" };
  const at = now + ms;
  if (resets(d).some((reset) => Math.abs(reset - at) <= 1)) return { kind: "reset", at };
  const most = perWindow(d);
  if (compare(most, d.limit) >= 0) return { kind: "ends", at };
  return at > boundary(d.window, now) ? { kind: "lasts", most } : { kind: "may-end", at };
}

/** The next instant at which what was used until then begins to count less. */
const boundary = (window: Window, now: number): number => (Math.floor(now / windowMs[window]) + 1) * windowMs[window];

const resets = (d: UsedDimension): number[] => d.perConnection.flatMap((c) => (c.resetAt === null ? [] : [instant(c.resetAt)]));

/** What the rate comes to in a whole window, exactly. */
function perWindow({ window, burnRate }: UsedDimension): string {
  const { units, scale } = decimal(burnRate.perSecond);
  return digits({ units: units * BigInt(windowMs[window] / second), scale });
}
