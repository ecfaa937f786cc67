/** Rules that are tried on the history: a pool as it is, but for what somebody changed. */
import type { WhatIfChange, WhatIfQuestion, WhatIfReport, WhatIfServed, WhatIfSide } from "../api/answers";
import type { Amount } from "../api/json";
import type { Mode, NewPool, NewSettings, Plan, Policy, Pool, Rule, SettingName, Settings, Unit } from "../api/types";
import { exactAmount, notKnown } from "../words/amount";
import { compare, percentOf, sum } from "../words/decimal";
import { keyName } from "../words/keys";
import { settingWords } from "../words/setting";
import { dimensionName, modeName, ruleName } from "../words/terms";
import { day, hour } from "../words/time";
import { changedLimits, type DimensionDraft, planDocument, planDraft } from "./plandraft";
import { typedSetting } from "./settingsdraft";
import { equalWeights, typed } from "./share";
import { plain } from "./typed";

/** The rules as they are. */
export interface Base {
  readonly pool: Pool;
  /** Of the pool's connections, as far as they are known. */
  readonly plans: readonly Plan[];
  readonly settings: Settings | null;
}

export interface TriedAllocation {
  readonly apiKeyId: string;
  /** As it was typed: the engine judges it. */
  readonly weight: string;
  readonly policy: Policy;
  readonly suspended: boolean;
}

export interface TriedPlan {
  readonly connectionId: string;
  readonly dimensions: readonly DimensionDraft[];
}

/** Those that change answers, and not only what is kept of them. */
export const triedSettings = ["saturationThreshold", "softDeprioritizeFactor", "signalTtlMs"] as const satisfies readonly SettingName[];
export type TriedSetting = (typeof triedSettings)[number];

export interface Tried {
  /** gone: as if there were no such pool. */
  readonly mode: Mode | "gone";
  readonly rule: Rule;
  /** In percent, as it was typed. */
  readonly reserve: string;
  /** In the order of the pool's. */
  readonly allocations: readonly TriedAllocation[];
  /** In the order of the base's. */
  readonly plans: readonly TriedPlan[];
  /** What was typed; absent is as it is. */
  readonly settings: { readonly [name in TriedSetting]?: string };
}

/** The rules as they are. */
export function triedOf({ pool: { mode, rule, reserve, allocations }, plans }: Base): Tried {
  return {
    mode,
    rule,
    reserve: String(reserve),
    allocations: allocations.map(({ apiKeyId, weight, policy, suspended }) => ({ apiKeyId, weight: String(weight), policy, suspended: suspended === true })),
    plans: plans.map((plan) => ({ connectionId: plan.connectionId, dimensions: planDraft(plan) })),
    settings: {},
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

export function withPlan(tried: Tried, connectionId: string, dimensions: readonly DimensionDraft[]): Tried {
  return { ...tried, plans: tried.plans.map((plan) => (plan.connectionId === connectionId ? { ...plan, dimensions } : plan)) };
}

/** The whole pool as it is tried; caps and connections stay. */
export function documentOf(pool: Pool, tried: Tried): NewPool {
  const { id, name, provider, onDegraded, connections, modelCaps } = pool;
  return {
    id, name, provider, onDegraded, connections, modelCaps,
    rule: tried.rule,
    reserve: plain(tried.reserve),
    mode: tried.mode === "gone" ? pool.mode : tried.mode,
    allocations: pool.allocations.map(({ suspended: _, ...a }, place) => {
      const now = tried.allocations[place];
      return { ...a, ...(now ? { weight: plain(now.weight), policy: now.policy, ...(now.suspended ? { suspended: true } : {}) } : {}) };
    }),
  };
}

export interface Difference {
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

const sameNumber = (before: string, after: string): boolean => (typed(after) === null ? before === after : compare(before, plain(after)) === 0);

/** How the pool shares otherwise. A reserve counts for the guarantee alone. */
function sharingDifferences({ pool }: Base, tried: Tried): Difference[] {
  const all: Difference[] = [];
  if (tried.mode === "gone") return all;
  if (tried.rule !== pool.rule) all.push({ what: "how it shares", before: ruleName(pool.rule), after: ruleName(tried.rule) });
  if (tried.rule === "guarantee" && !sameNumber(String(pool.reserve), tried.reserve)) all.push({ what: "the reserve", before: `${pool.reserve} %`, after: `${plain(tried.reserve)} %` });
  return all;
}

/** What else of the pool differs from the rules as they are, in the order of the form. */
function poolDifferences(base: Base, tried: Tried): Difference[] {
  if (tried.mode === "gone") return [{ what: base.pool.name, before: "is there", after: "is gone" }];
  const now = triedOf(base);
  const all: Difference[] = [];
  const add = (what: string, before: string, after: string, same = before === after): void => void (same || all.push({ what, before, after }));
  now.allocations.forEach((a, place) => {
    const b = tried.allocations[place];
    if (!b) return;
    const name = keyName(a.apiKeyId);
    add(`weight of ${name}`, a.weight, b.weight, sameNumber(a.weight, b.weight));
    add(`policy of ${name}`, a.policy, b.policy);
    add(name, a.suspended ? "suspended" : "not suspended", b.suspended ? "suspended" : "not suspended");
  });
  add("the pool", modeName(base.pool.mode).toLowerCase(), modeName(tried.mode).toLowerCase());
  return all;
}

/** The limit as it is told; what is typed wrong is told as it was typed. */
function limitSaid(d: DimensionDraft | undefined): string {
  if (!d) return "not counted";
  const limit = plain(d.limit);
  return limit === "" ? `limit ${notKnown}` : typed(limit) === null ? limit : exactAmount(limit, d.unit);
}

function planDifferences({ plans }: Base, tried: Tried): Difference[] {
  return plans.flatMap((plan, place) => {
    const [before, after] = [planDraft(plan), tried.plans[place]?.dimensions ?? planDraft(plan)];
    return changedLimits(before, after).map(({ unit, window }): Difference => {
      const of = (list: readonly DimensionDraft[]): string => limitSaid(list.find((d) => d.unit === unit && d.window === window));
      return { what: `${dimensionName({ unit, window })} of ${plan.connectionId}`, before: of(before), after: of(after) };
    });
  });
}

/** What was typed for a setting and is another value than the one in force. */
function settingsTried({ settings }: Base, tried: Tried): [TriedSetting, string][] {
  if (!settings) return [];
  const all = triedSettings.map((name): [TriedSetting, string] => [name, tried.settings[name]?.trim() ? typedSetting(name, tried.settings[name] ?? "") : ""]);
  return all.filter(([name, value]) => value !== "" && value !== String(settings[name].value));
}

/** What differs from the rules as they are, in the order of the form. */
export function differences(base: Base, tried: Tried): Difference[] {
  const settings = settingsTried(base, tried).map(([name, after]): Difference => {
    const title = settingWords(name).title;
    return { what: title.charAt(0).toLowerCase() + title.slice(1), before: String(base.settings?.[name].value), after };
  });
  return [...sharingDifferences(base, tried), ...poolDifferences(base, tried), ...planDifferences(base, tried), ...settings].filter((d) => d.before !== d.after);
}

/** The plans that are tried: those that were changed. */
function plansTried({ plans }: Base, tried: Tried): NonNullable<WhatIfQuestion["plans"]> {
  const text = (dimensions: readonly DimensionDraft[]): string => JSON.stringify(planDocument(dimensions));
  const changed = tried.plans.filter((plan, place) => text(plan.dimensions) !== text(planDraft(plans[place] as Plan)));
  return changed.map(({ connectionId, dimensions }) => ({ connectionId, ...planDocument(dimensions) }));
}

/** How far back a trial goes. A day is what the engine takes by itself: the last one of the log, which may have ended earlier. */
export const ranges: Readonly<Record<string, number | null>> = { hour, "6h": 6 * hour, day: null, week: 7 * day };

/**
 * The question to the engine. A trial of nothing is one of the pool as it is now. Where the
 * pool shares otherwise and is the same in all else, its rule alone is sent: then what the
 * history says of the pool later stays.
 */
export function trialOf(base: Base, tried: Tried, range: string, now: number): WhatIfQuestion {
  const ms = ranges[range] ?? null;
  const plans = plansTried(base, tried);
  const settings = Object.fromEntries(settingsTried(base, tried)) as NewSettings;
  const sharing = sharingDifferences(base, tried).length > 0;
  const pool = poolDifferences(base, tried).length > 0 || plans.length + Object.keys(settings).length + (sharing ? 1 : 0) === 0;
  const rule = { poolId: base.pool.id, rule: tried.rule, reserve: plain(tried.reserve) };
  return {
    ...(tried.mode === "gone" ? { withoutPools: [base.pool.id] } : pool ? { pools: [documentOf(base.pool, tried)] } : sharing ? { rules: [rule] } : {}),
    ...(plans.length > 0 ? { plans } : {}),
    ...(Object.keys(settings).length > 0 ? { settings } : {}),
    ...(ms === null ? {} : { from: new Date(now - ms).toISOString() }),
  };
}

/** The names that parts of a question have in the faults of the engine. */
export const faultFields = {
  allocation: (place: number, field: "weight" | "policy"): string => `pools[0].allocations[${place}].${field}`,
  /** Of a limit, and of the plan of that connection within the question. */
  limit: ({ plans = [] }: WhatIfQuestion, connectionId: string, place: number, field: string): string =>
    `plans[${plans.findIndex((plan) => plan.connectionId === connectionId)}].dimensions[${place}].${field}`,
  /** Of the reserve: the whole pool was sent, or its rule alone. */
  reserve: ["pools[0].reserve", "rules[0].reserve"],
  setting: (name: TriedSetting): string => `settings.${name}`,
};

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

/** The units in which one of the rows consumed anything on either side. */
export function unitsOf(rows: readonly WhatIfChange[]): Unit[] {
  const some = (amount: Amount | undefined): boolean => amount !== undefined && compare(amount, 0) !== 0;
  return (["requests", "tokens", "usd", "percent"] as const).filter((unit) => rows.some(({ before, after }) => some(before.served[unit]) || some(after.served[unit])));
}

/** The units in which anything was consumed on either side. */
export function servedUnits({ total }: WhatIfReport): Unit[] {
  return unitsOf([total]);
}

export interface ShiftRow extends WhatIfServed {
  readonly unit: Unit;
  /** How large the difference is beside the largest of the unit, in percent. */
  readonly part: string;
  readonly more: boolean;
}

/** How many keys that get more are listed of a unit, and as many that get less. */
const mostShifts = 10;

/** Who gets more and then who less, unit by unit, and how many are left out. */
export function shiftsOf({ shifts }: WhatIfReport): { readonly rows: readonly ShiftRow[]; readonly others: number } {
  const size = ({ difference }: WhatIfServed): string => String(difference).replace(/^-/, "");
  const rows = shifts.flatMap(({ unit, more, less }) => {
    const largest = [more[0], less[0]].flatMap((served) => (served ? [size(served)] : [])).reduce((a, b) => (compare(a, b) > 0 ? a : b), "0");
    const row = (isMore: boolean) => (served: WhatIfServed): ShiftRow => ({ ...served, unit, more: isMore, part: percentOf(size(served), largest, 2) ?? "0" });
    return [...more.slice(0, mostShifts).map(row(true)), ...less.slice(0, mostShifts).map(row(false))];
  });
  return { rows, others: shifts.reduce((n, { more, less }) => n + more.length + less.length, 0) - rows.length };
}
