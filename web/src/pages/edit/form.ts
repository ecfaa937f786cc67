/** What the parts of the form share: what they are given, and which of them says what is wrong. */
import type { ApiError } from "../../api/error";
import type { Fault, Pool, Trial } from "../../api/types";
import type { Draft } from "../../model/draft";
import type { Answered } from "../../state/trial";

/** What every part of the form is given. */
export interface FormProps {
  draft: Draft;
  change: (change: Partial<Draft>) => void;
  /** What the engine says is wrong with a field; "" while nothing is. */
  problem: (field: string) => string;
}

export type PoolTrial = Answered<Trial & { pool: Pool }>;

/** Nobody wants to be told that a field is missing which they have not reached yet. */
export function problemOf(error: ApiError | null, field: string, early: boolean): string {
  const problem = error?.problemOf(field) ?? "";
  return early && problem.startsWith("is missing") ? "" : problem;
}

/** Whether a field is one that nobody has come to: empty at the top, or in the last row of a list. */
export function empty(draft: Draft, field: string): boolean {
  if (field === "name" || field === "provider") return draft[field] === "";
  const last = /^(connections|allocations)\[(\d+)\]/.exec(field);
  return last !== null && Number(last[2]) === draft[last[1] as "connections" | "allocations"].length - 1;
}

/** The problems that no field of the form shows. */
export function elsewhere(error: ApiError | null): readonly Fault[] {
  const shown = /^(name|provider|id|reserve|connections\[\d+\]\.(connectionId|weight|maxConcurrent)|allocations\[\d+\]\.(apiKeyId|weight|policy|capValue|caps\[\d+\]\.(unit|window|value))|modelCaps\[\d+\]\.(apiKeyId|model|capUnit|capValue))$/;
  return (error?.faults ?? []).filter(({ field }) => !shown.test(field));
}
