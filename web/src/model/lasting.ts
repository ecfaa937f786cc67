/** Whether what an account may use lasts until it is given anew. */
import type { Amount } from "../api/json";
import type { Signal, UsedDimension, Window } from "../api/types";
import { compare, percentOf, roughly } from "../words/decimal";
import { day, hour, instant } from "../words/time";
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
  const at = start + Math.floor((over * 100) / roughly(used));
  return at < reset ? { kind: "short", at } : { kind: "lasts" };
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

const rank: Record<Outcome["kind"], number> = { gone: 0, short: 1, lasts: 2, early: 3 };

function order(a: Lasting, b: Lasting): number {
  const kinds = rank[a.outcome.kind] - rank[b.outcome.kind];
  if (kinds !== 0) return kinds;
  if (a.outcome.kind === "short" && b.outcome.kind === "short") return a.outcome.at - b.outcome.at;
  return compare(b.used, a.used);
}

/** Every window of every account of which a provider spoke, the tightest first. */
export function lasting(all: readonly Known[], now: number): Lasting[] {
  return all
    .flatMap(({ pool, usage }) => (usage?.signals ?? []).map((signal) => lastingOf(pool.id, signal, now)))
    .filter((row) => row !== null)
    .sort(order);
}

/** A limit that no provider speaks of: it does not start anew, what is older than its window just counts no more. */
export interface Rolling {
  readonly id: string;
  readonly poolId: string;
  readonly poolName: string;
  readonly dimension: UsedDimension;
}

/** Every limit of our own that is known, the fullest first. */
export function rolling(all: readonly Known[]): Rolling[] {
  return all
    .flatMap(({ pool, usage }) =>
      (usage?.dimensions ?? [])
        .filter((d) => d.unit !== "percent" && d.limit !== null)
        .map((dimension) => ({ id: [pool.id, dimension.unit, dimension.window].join(" "), poolId: pool.id, poolName: pool.name, dimension })),
    )
    .sort((a, b) => compare(b.dimension.usedPercent ?? 0, a.dimension.usedPercent ?? 0));
}

/** What becomes of a dimension at the rate of the last hour. */
export type Projection =
  | { readonly kind: "no-data" }
  | { readonly kind: "no-limit" }
  | { readonly kind: "used-up" }
  /** Used up at that instant. */
  | { readonly kind: "ends"; readonly at: number }
  /** Given anew at that instant, before it is used up. */
  | { readonly kind: "reset"; readonly at: number };

/** The engine cuts the wait off at the reset, to the millisecond. */
export function projection(d: UsedDimension, now: number): Projection {
  if (usedUp(d)) return { kind: "used-up" };
  const ms = d.burnRate.timeToExhaustionMs;
  if (compare(d.burnRate.perSecond, 0) === 0) return { kind: "no-data" };
  if (ms === null || d.limit === null) return { kind: "no-limit" };
  const at = now + ms;
  return resets(d).some((reset) => Math.abs(reset - at) <= 1) ? { kind: "reset", at } : { kind: "ends", at };
}

const resets = (d: UsedDimension): number[] => d.perConnection.flatMap((c) => (c.resetAt === null ? [] : [instant(c.resetAt)]));
