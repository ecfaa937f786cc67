/** A plan while somebody writes it. */
import type { NewPlan } from "../api/client";
import type { Plan, Unit, Window } from "../api/types";
import { compare } from "../words/decimal";

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
    dimensions: draft.map(({ unit, window, limit }) => ({ unit, window, ...(limit.trim() === "" ? {} : { limit: limit.trim() }) })),
  };
}

/** The first unit and window that the plan does not have: the same twice would be a fault. */
export function nextDimension(draft: readonly DimensionDraft[], units: readonly Unit[], windows: readonly Window[]): { unit: Unit; window: Window } {
  const all = units.flatMap((unit) => windows.map((window) => ({ unit, window })));
  const free = all.find((d) => !draft.some((has) => has.unit === d.unit && has.window === d.window));
  return free ?? { unit: "requests", window: "hourly" };
}
