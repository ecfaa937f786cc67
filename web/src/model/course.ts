/** Where what is used leads to, as lines over time: for heights, and for the figures beside them. */
import type { Amount } from "../api/json";
import type { UsedDimension } from "../api/types";
import { decimal, digits, percentOf, roughly, sum } from "../words/decimal";
import { instant } from "../words/time";
import { type Lasting, type Projection, windowMs } from "./lasting";

export interface Track {
  /** used: what is known; ahead: what follows at this rate; even: what would just last. */
  readonly id: "used" | "ahead" | "even" | "limit";
  readonly values: readonly (number | null)[];
}

export interface Course {
  /** In epoch milliseconds. */
  readonly times: readonly number[];
  readonly tracks: readonly Track[];
  /** What is used at the end of it, and when that is. */
  readonly then: Amount;
  readonly end: number;
}

/** The course of one of our own limits, from now on; null where there is no rate to go on with, or nothing left. */
export function rollingCourse(d: UsedDimension, p: Projection, now: number): Course | null {
  const there = ahead(d, p, now);
  if (there === null || d.limit === null) return null;
  const limit = roughly(d.limit);
  return {
    ...there,
    times: [now, there.end],
    tracks: [
      { id: "limit", values: [limit, limit] },
      { id: "ahead", values: [roughly(d.consumedTotal), roughly(there.then)] },
    ],
  };
}

/** What grows old while a whole window passes leaves room evenly, so the way to what the rate comes to is straight. */
function ahead(d: UsedDimension, p: Projection, now: number): { end: number; then: Amount } | null {
  switch (p.kind) {
    case "ends":
    case "may-end":
      return { end: p.at, then: d.limit ?? 0 };
    case "reset":
      return { end: p.at, then: sum([d.consumedTotal, passed(d.burnRate.perSecond, p.at - now)]) };
    case "lasts":
      return { end: now + windowMs[d.window], then: p.most };
    case "no-data":
    case "no-limit":
    case "used-up":
      return null;
  }
}

/** What a rate comes to in so many milliseconds. */
function passed(perSecond: Amount, ms: number): string {
  const { units, scale } = decimal(perSecond);
  return digits({ units: units * BigInt(ms), scale: scale + 3 });
}

/** How many points of 100 a window that is used evenly has at an instant. */
const evenly = (start: number, length: number, at: number): number => ((at - start) * 100) / length;

/** The course of an account's window, from its beginning to its reset, at its average pace; null when nothing can be said. */
export function accountCourse({ window, used, resetAt, observedAt, outcome }: Lasting): Course | null {
  if (outcome.kind === "early" || outcome.kind === "gone") return null;
  const end = instant(resetAt);
  const length = windowMs[window];
  const start = end - length;
  const seen = Math.min(Math.max(instant(observedAt), start + 1), end);
  const then = outcome.kind === "short" ? "100" : (percentOf(used, evenlyPart(seen - start, length), 6) ?? used);
  const times = outcome.kind === "short" ? [start, seen, outcome.at, end] : [start, seen, end];
  const more = times.slice(2);
  return {
    times, then, end: outcome.kind === "short" ? outcome.at : end,
    tracks: [
      { id: "limit", values: times.map(() => 100) },
      { id: "even", values: times.map((at) => evenly(start, length, at)) },
      { id: "used", values: [0, roughly(used), ...more.map(() => null)] },
      { id: "ahead", values: [null, roughly(used), ...more.map(() => roughly(then))] },
    ],
  };
}

/** A part of a length in percent, exact enough to divide by. */
const evenlyPart = (part: number, length: number): string => percentOf(part, length, 6) ?? "100";
