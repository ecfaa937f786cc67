/** Rules that are tried on the history: a pool as it is, but for what somebody changed. */
import type { WhatIfChange, WhatIfQuestion, WhatIfReport, WhatIfSide } from "../api/answers";
import type { Amount } from "../api/json";
import type { Mode, NewPool, Policy, Pool, Rule, Unit } from "../api/types";
import { compare, sum } from "../words/decimal";
import { day, hour } from "../words/time";
import { equalWeights, typed } from "./share";

export interface TriedAllocation {
  readonly apiKeyId: string;
  /** As it was typed: the engine judges it. */
  readonly weight: string;
  readonly policy: Policy;
  readonly suspended: boolean;
}

export interface Tried {
  readonly mode: Mode;
  readonly rule: Rule;
  /** In the order of the pool's. */
  readonly allocations: readonly TriedAllocation[];
}

/** The rules as they are. */
export function triedOf({ mode, rule, allocations }: Pool): Tried {
  return {
    mode, rule,
    allocations: allocations.map(({ apiKeyId, weight, policy, suspended }) => ({ apiKeyId, weight: String(weight), policy, suspended: suspended === true })),
  };
}

export function withAllocation(tried: Tried, apiKeyId: string, change: Partial<TriedAllocation>): Tried {
  return { ...tried, allocations: tried.allocations.map((a) => (a.apiKeyId === apiKeyId ? { ...a, ...change } : a)) };
}

/** All weights as equal as they can be. */
export function split(tried: Tried): Tried {
  const weights = equalWeights(tried.allocations.length);
  return { ...tried, allocations: tried.allocations.map((a, place) => ({ ...a, weight: weights[place] ?? a.weight })) };
}

/** What the weights sum to; null while one of them is no number. */
export function weightSum({ allocations }: Tried): string | null {
  const weights = allocations.map((a) => typed(a.weight));
  return weights.every((weight) => weight !== null) ? sum(weights) : null;
}

/** The whole pool as it is tried; caps and connections stay. */
export function documentOf(pool: Pool, tried: Tried): NewPool {
  const { id, name, provider, reserve, onDegraded, connections, modelCaps } = pool;
  return {
    id, name, provider, reserve, onDegraded, connections, modelCaps,
    mode: tried.mode,
    rule: tried.rule,
    allocations: pool.allocations.map(({ suspended: _, ...a }, place) => {
      const now = tried.allocations[place];
      return { ...a, ...(now ? { weight: now.weight, policy: now.policy, ...(now.suspended ? { suspended: true } : {}) } : {}) };
    }),
  };
}

export interface Difference {
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

const sameNumber = (before: string, after: string): boolean => (typed(after) === null ? before === after : compare(before, after.trim()) === 0);

/** What differs from the rules as they are, in the order of the form. */
export function differences(pool: Pool, tried: Tried): Difference[] {
  const now = triedOf(pool);
  const all: Difference[] = [];
  const add = (what: string, before: string, after: string, same = before === after): void => void (same || all.push({ what, before, after }));
  add("mode", now.mode, tried.mode);
  add("rule", now.rule, tried.rule);
  now.allocations.forEach((a, place) => {
    const b = tried.allocations[place];
    if (!b) return;
    add(`weight of ${a.apiKeyId}`, a.weight, b.weight, sameNumber(a.weight, b.weight));
    add(`policy of ${a.apiKeyId}`, a.policy, b.policy);
    add(a.apiKeyId, a.suspended ? "suspended" : "not suspended", b.suspended ? "suspended" : "not suspended");
  });
  return all;
}

/** How far back a trial goes. A day is what the engine takes by itself: the last one of the log, which may have ended earlier. */
export const ranges: Readonly<Record<string, number | null>> = { hour, "6h": 6 * hour, day: null, week: 7 * day };

/** The question to the engine. */
export function trialOf(pool: Pool, tried: Tried, range: string, now: number): WhatIfQuestion {
  const ms = ranges[range] ?? null;
  return { pools: [documentOf(pool, tried)], ...(ms === null ? {} : { from: new Date(now - ms).toISOString() }) };
}

/** The place of an allocation's field in the faults that the engine names. */
export function faultField(place: number, field: "weight" | "policy"): string {
  return `pools[0].allocations[${place}].${field}`;
}

export interface TrialRow extends WhatIfChange {
  readonly apiKeyId: string;
}

const counts = ({ allowed, blocked, wouldBlock, deprioritized }: WhatIfSide): number[] => [allowed, blocked, wouldBlock, deprioritized];

/** Whether anything about a key is another on the two sides. */
export function isOther({ before, after, newlyBlocked, newlyAllowed }: WhatIfChange): boolean {
  if (newlyBlocked + newlyAllowed > 0 || String(counts(before)) !== String(counts(after))) return true;
  const units = new Set([...Object.keys(before.served), ...Object.keys(after.served)]) as Set<Unit>;
  return [...units].some((unit) => compare(before.served[unit] ?? 0, after.served[unit] ?? 0) !== 0);
}

/** The keys, those first for which most changes; or only those for which something does. */
export function rowsOf({ keys }: WhatIfReport, changedOnly: boolean): TrialRow[] {
  const weight = (row: TrialRow): number => row.newlyBlocked + row.newlyAllowed + (isOther(row) ? 0.5 : 0);
  return keys.filter((row) => !changedOnly || isOther(row)).sort((a, b) => weight(b) - weight(a));
}

/** The units in which anything was consumed on either side. */
export function servedUnits({ total }: WhatIfReport): Unit[] {
  const some = (amount: Amount | undefined): boolean => amount !== undefined && compare(amount, 0) !== 0;
  return (["requests", "tokens", "usd", "percent"] as const).filter((unit) => some(total.before.served[unit]) || some(total.after.served[unit]));
}
