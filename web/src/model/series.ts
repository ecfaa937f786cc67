/** What the charts of a pool show, worked out from its history. */
import type { Amount } from "../api/json";
import type { History, Unit } from "../api/types";
import { compare, roughly, sum } from "../words/decimal";
import { instant, minute } from "../words/time";

/** The id of the keys without an allocation of their own, together. */
export const unlistedId = "*";

/** What one key used, a value for each row of the history. */
export interface Part {
  readonly id: string;
  readonly values: readonly Amount[];
}

export interface Parts {
  /** The first instant of each row, in epoch milliseconds. */
  readonly times: readonly number[];
  /** Those that used something, in the order of ids; the keys without an allocation last. */
  readonly parts: readonly Part[];
  readonly total: readonly Amount[];
  /** What corrections changed in all rows together, in none of the others; "0" for nothing. */
  readonly adjusted: string;
}

const used = (values: readonly Amount[]): boolean => values.some((value) => compare(value, 0) > 0);

/** Parts the history of one unit by keys. ids are the allocations in their order. */
export function partsOf(history: History, unit: Unit, ids: readonly string[]): Parts {
  const { rows } = history;
  const byKey = new Map<string, Amount[]>();
  rows.forEach((row, place) => {
    for (const key of row.perKey) valuesOf(byKey, key.apiKeyId, rows.length)[place] = key[unit];
  });
  const unlisted = { id: unlistedId, values: rows.map((row) => row.unlisted[unit]) };
  // A key whose allocation was taken away meanwhile is not in ids.
  const order = [...new Set([...ids, ...byKey.keys()])];
  return {
    times: rows.map((row) => instant(row.time)),
    parts: [...order.map((id) => ({ id, values: byKey.get(id) ?? [] })), unlisted].filter((part) => used(part.values)),
    total: rows.map((row) => row.total[unit]),
    adjusted: sum(rows.map((row) => row.adjusted?.[unit] ?? 0)),
  };
}

function valuesOf(byKey: Map<string, Amount[]>, id: string, n: number): Amount[] {
  const known = byKey.get(id) ?? Array<Amount>(n).fill(0);
  byKey.set(id, known);
  return known;
}

/** The upper edge of each part when they lie one on the other, the first at the bottom: for lengths alone. */
export function stacked(parts: readonly Part[]): number[][] {
  const below: number[] = [];
  return parts.map(({ values }) => values.map((value, place) => (below[place] = (below[place] ?? 0) + roughly(value))));
}

/** The weight of the newest minute in a moving average, as the engine has it. */
const alpha = 0.3;

/**
 * The moving average after each of some complete minutes, per minute: for the
 * heights of a line, not for figures. As the engine does, it begins with the
 * first minute with use, and there is none before there are two.
 */
export function averages(minutes: readonly Amount[]): (number | null)[] {
  let average: number | null = null;
  return minutes.map((amount) => {
    const sample = Math.max(roughly(amount), 0);
    const first = average === null;
    if (first && sample === 0) return null;
    average = average === null ? sample : average + alpha * (sample - average);
    return first ? null : average;
  });
}

/** How far back a burn rate looks, in minutes. */
export const burnMinutes = 60;

/** The complete minutes that a burn rate looks at. */
export function burnSpan(now: number): { from: number; to: number } {
  const to = now - (now % minute);
  return { from: to - burnMinutes * minute, to };
}

/** The place of the row that an instant lies in; 0 before the first. times are in order. */
export function placeAt(times: readonly number[], at: number): number {
  const next = times.findIndex((time) => time > at);
  return Math.max((next < 0 ? times.length : next) - 1, 0);
}
