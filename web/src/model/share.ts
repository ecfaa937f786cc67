/** What weights come to: the engine's own arithmetic, digit by digit, for a pool that is not saved yet. */
import type { Amount } from "../api/json";
import type { Dimension, Plan, Plans, Unit, Window } from "../api/types";
import { compare, decimal, digits, sum } from "../words/decimal";
import { plain } from "./typed";

/** How many decimals the engine keeps of a unit. */
const scales: Record<Unit, number> = { requests: 3, tokens: 3, usd: 9, percent: 6 };

const units = (amount: Amount, scale: number): bigint => {
  const d = decimal(amount);
  return scale >= d.scale ? d.units * 10n ** BigInt(scale - d.scale) : d.units / 10n ** BigInt(d.scale - scale);
};

/** How many decimals a weight may have. */
const weightScale = 6;

/**
 * Each weight's share of a limit: limit × weight / max(100, sum of weights), or
 * of equal parts where all weights are 0. Rounded down to the unit's smallest
 * step, as the engine does, so that shares never sum to more than the limit.
 */
export function shares(limit: Amount, weights: readonly Amount[], unit: Unit): string[] {
  const scale = scales[unit];
  const whole = units(limit, scale);
  const parts = weights.map((weight) => units(weight, weightScale));
  const total = parts.reduce((a, b) => a + b, 0n);
  const hundred = units(100, weightScale);
  const base = total > hundred ? total : hundred;
  const share = (part: bigint): bigint => (total === 0n ? whole / BigInt(weights.length) : (whole * part) / base);
  return parts.map((part) => digits({ units: share(part), scale }));
}

/** n weights that are as equal as two decimals allow, and sum to 100: of three, 33.34, 33.33 and 33.33. */
export function equalWeights(n: number): string[] {
  if (n === 0) return [];
  const each = Math.floor(10_000 / n);
  const more = 10_000 - each * n;
  return Array.from({ length: n }, (_, place) => digits({ units: BigInt(each + (place < more ? 1 : 0)), scale: 2 }));
}

/** What was typed, as a number: null while it is none that is at least 0. */
export function typed(text: string): string | null {
  const number = plain(text);
  return /^\d+(\.\d+)?$/.test(number) ? number : null;
}

export interface PoolLimit {
  readonly unit: Unit;
  readonly window: Window;
  /** null where it is not known. */
  readonly limit: Amount | null;
}

/** The plan of a connection in a pool of that provider: what was set by hand, else the catalogue's. */
function dimensionsOf(connectionId: string, provider: string, plans: Plans): readonly Dimension[] {
  const manual = plans.plans.find((plan: Plan) => plan.connectionId === connectionId && plan.source === "manual");
  const entry = plans.catalogue.find((e) => e.provider === provider || e.aliases.includes(provider));
  return manual?.dimensions ?? entry?.dimensions ?? [];
}

/**
 * What a pool of these connections may use. The first says what is counted; each
 * of the others adds its own limit, or the first one's where it has none. Where
 * the first does not know its limit, nobody does.
 */
export function poolLimits(connectionIds: readonly string[], provider: string, plans: Plans): PoolLimit[] {
  const own = connectionIds.map((id) => dimensionsOf(id, provider, plans));
  return (own[0] ?? []).map(({ unit, window, limit }) => {
    if (compare(limit, 0) === 0) return { unit, window, limit: null };
    const limits = own.map((plan) => plan.find((d) => d.unit === unit && d.window === window && compare(d.limit, 0) > 0)?.limit ?? limit);
    return { unit, window, limit: sum(limits) };
  });
}
