/** A plan while somebody writes it. */
import type { NewPlan } from "../api/client";
import type { Plan, Unit, Window } from "../api/types";
import { compare } from "../words/decimal";
import { dimensionName } from "../words/terms";
import { type Merged, mergedRows } from "./merge";
import { plain } from "./typed";

export interface DimensionDraft {
  readonly row: number;
  readonly unit: Unit;
  readonly window: Window;
  /** Empty for a limit that is not known. */
  readonly limit: string;
}

export function planDraft({ dimensions }: Plan): readonly DimensionDraft[] {
  return dimensions.map(({ unit, window, limit }, place) => ({ row: place + 1, unit, window, limit: compare(limit, 0) === 0 ? "" : String(limit) }));
}

/** What is sent: a limit that was left empty is not known, and not sent. */
export function planDocument(draft: readonly DimensionDraft[]): NewPlan {
  return {
    dimensions: draft.map(({ unit, window, limit }) => ({ unit, window, ...(plain(limit) === "" ? {} : { limit: plain(limit) }) })),
  };
}

/** The first unit and window that the plan does not have: the same twice would be a fault. */
export function nextDimension(draft: readonly DimensionDraft[], units: readonly Unit[], windows: readonly Window[]): { unit: Unit; window: Window } {
  const all = units.flatMap((unit) => windows.map((window) => ({ unit, window })));
  const free = all.find((d) => !draft.some((has) => has.unit === d.unit && has.window === d.window));
  return free ?? { unit: "requests", window: "hourly" };
}

/** A plan that two people changed: of every limit mine, if I changed it, else theirs. */
export function mergedPlan(base: Plan, mine: readonly DimensionDraft[], theirs: Plan): Merged<readonly DimensionDraft[]> {
  return mergedRows(planDraft(base), mine, planDraft(theirs), dimensionName);
}

/** The limits that two of them have otherwise. */
export function changedLimits(before: readonly DimensionDraft[], after: readonly DimensionDraft[]): { unit: Unit; window: Window }[] {
  const has = (list: readonly DimensionDraft[], d: DimensionDraft): boolean => list.some(({ unit, window, limit }) => unit === d.unit && window === d.window && limit === d.limit);
  const differ = [...before.filter((d) => !has(after, d)), ...after.filter((d) => !has(before, d))];
  return differ.filter((d, place) => differ.findIndex(({ unit, window }) => unit === d.unit && window === d.window) === place);
}
