/** A pool while somebody writes it: numbers are the text that was typed, for the engine alone judges it. */
import type { Amount } from "../api/json";
import type { Cap, Mode, NewAllocation, NewPool, OnDegraded, Policy, Pool, PoolPatch, Rule, Unit, Window } from "../api/types";
import { plain } from "./typed";

/** A cap of one window, or of every dimension of the plan that counts the unit. */
export type CapWindow = Window | "every";

/** row tells one row from another while their content changes. */
export interface Row {
  readonly row: number;
}

export interface ConnectionDraft extends Row {
  readonly connectionId: string;
  readonly weight: string;
  readonly maxConcurrent: string;
}

export interface CapDraft extends Row {
  readonly unit: Unit;
  readonly window: CapWindow;
  readonly value: string;
}

export interface AllocationDraft extends Row {
  readonly apiKeyId: string;
  readonly weight: string;
  readonly policy: Policy;
  readonly suspended: boolean;
  readonly caps: readonly CapDraft[];
}

export interface ModelCapDraft extends Row {
  readonly apiKeyId: string;
  readonly model: string;
  readonly capUnit: Unit;
  readonly capValue: string;
}

export interface Draft {
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly mode: Mode;
  readonly rule: Rule;
  /** Empty for the default. */
  readonly reserve: string;
  readonly onDegraded: OnDegraded;
  readonly connections: readonly ConnectionDraft[];
  readonly allocations: readonly AllocationDraft[];
  readonly modelCaps: readonly ModelCapDraft[];
}

/** The fields that can be changed, as the API names them. */
export const fields = ["name", "provider", "mode", "rule", "reserve", "onDegraded", "connections", "allocations", "modelCaps"] as const;

/** A number that no row of the list has. */
function nextRow(list: readonly Row[]): number {
  return list.reduce((most, { row }) => Math.max(most, row), 0) + 1;
}

/** The list with one more. */
export function appended<R extends Row>(list: readonly R[], fresh: Omit<R, "row">): readonly R[] {
  return [...list, { ...fresh, row: nextRow(list) } as R];
}

/** The list with one row changed. */
export function replaced<R extends Row>(list: readonly R[], row: number, change: Partial<R>): readonly R[] {
  return list.map((each) => (each.row === row ? { ...each, ...change } : each));
}

export function without<R extends Row>(list: readonly R[], row: number): readonly R[] {
  return list.filter((each) => each.row !== row);
}

export const freshConnection = { connectionId: "", weight: "", maxConcurrent: "" };
export const freshAllocation = { apiKeyId: "", weight: "", policy: "hard" as Policy, suspended: false, caps: [] };
export const freshModelCap = { apiKeyId: "", model: "", capUnit: "requests" as Unit, capValue: "" };

/** What a new pool begins with: one row of each, because one of each is needed. */
export function newDraft(connectionId = "", provider = ""): Draft {
  return {
    id: "", name: "", provider, mode: "enforce", rule: "threshold", reserve: "", onDegraded: "open", modelCaps: [],
    connections: [{ ...freshConnection, connectionId, row: 1 }],
    allocations: [{ ...freshAllocation, row: 1 }],
  };
}

const numbered = <T>(list: readonly T[]): (T & Row)[] => list.map((each, place) => ({ ...each, row: place + 1 }));

/** A default is left empty: most pools need nothing else. */
const text = (value: Amount | undefined, usual?: Amount): string => (value === undefined || value === usual ? "" : String(value));

/** A pool as it is, to be changed. */
export function draftOf(pool: Pool): Draft {
  const { id, name, provider, mode, rule, onDegraded } = pool;
  return {
    id, name, provider, mode, rule, reserve: text(pool.reserve, 100), onDegraded,
    connections: numbered(pool.connections.map((c) => ({ connectionId: c.connectionId, weight: text(c.weight, 100), maxConcurrent: text(c.maxConcurrent) }))),
    allocations: numbered(pool.allocations.map((a) => ({
      apiKeyId: a.apiKeyId, weight: String(a.weight), policy: a.policy, suspended: a.suspended === true, caps: numbered(capsOf(a)),
    }))),
    modelCaps: numbered(pool.modelCaps.map((c) => ({ ...c, capValue: String(c.capValue) }))),
  };
}

function capsOf(a: Pool["allocations"][number]): Omit<CapDraft, "row">[] {
  const own = (a.caps ?? []).map((cap) => ({ ...cap, value: String(cap.value) }));
  const every = a.capUnit && a.capValue !== undefined ? [{ unit: a.capUnit, window: "every" as const, value: String(a.capValue) }] : [];
  return [...own, ...every];
}

/** A field that is left empty is not sent: the engine has a default for it, or says that it is missing. */
function given<Name extends string>(name: Name, value: string): { [name in Name]?: string } {
  const trimmed = value.trim();
  return (trimmed ? { [name]: trimmed } : {}) as { [name in Name]?: string };
}

/** As given, of a number. */
function number<Name extends string>(name: Name, value: string): { [name in Name]?: string } {
  return given(name, plain(value));
}

/** What is sent to create the pool. */
export function documentOf(draft: Draft): NewPool {
  return {
    ...given("id", draft.id),
    ...(given("name", draft.name) as { name: string }),
    ...(given("provider", draft.provider) as { provider: string }),
    mode: draft.mode,
    rule: draft.rule,
    ...number("reserve", draft.reserve),
    onDegraded: draft.onDegraded,
    connections: draft.connections.map((c) => ({
      ...(given("connectionId", c.connectionId) as { connectionId: string }), ...number("weight", c.weight), ...number("maxConcurrent", c.maxConcurrent),
    })),
    allocations: draft.allocations.map(allocationOf),
    modelCaps: draft.modelCaps.map((c) => ({
      ...(given("apiKeyId", c.apiKeyId) as { apiKeyId: string }), ...(given("model", c.model) as { model: string }),
      capUnit: c.capUnit, ...(number("capValue", c.capValue) as { capValue: string }),
    })),
  };
}

function allocationOf(a: AllocationDraft): NewAllocation {
  const every = a.caps.find((cap) => cap.window === "every");
  const caps = a.caps.filter((cap) => cap.window !== "every");
  return {
    ...(given("apiKeyId", a.apiKeyId) as { apiKeyId: string }),
    ...number("weight", a.weight),
    policy: a.policy,
    ...(a.suspended ? { suspended: true } : {}),
    ...(caps.length ? { caps: caps.map(({ unit, window, value }) => ({ unit, window, ...number("value", value) }) as Cap) } : {}),
    ...(every ? { capUnit: every.unit, ...number("capValue", every.value) } : {}),
  };
}

/** The fields that differ from the pool as it was, and nothing else: what others changed elsewhere stays. Empty when none does. */
export function patchOf(base: Pool, draft: Draft): PoolPatch {
  const before = documentOf(draftOf(base)) as unknown as Record<string, unknown>;
  const { id: _, ...after } = documentOf(draft) as unknown as Record<string, unknown>;
  const changed = fields.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return Object.fromEntries(changed.map((name) => [name, after[name] ?? null])) as PoolPatch;
}

/** The field of a cap in the document that is sent, as the engine names it in a fault. */
export function capField(allocation: AllocationDraft, place: number, row: number): string {
  const cap = allocation.caps.find((each) => each.row === row);
  if (cap?.window === "every") return `allocations[${place}].capValue`;
  const own = allocation.caps.filter((each) => each.window !== "every");
  return `allocations[${place}].caps[${own.findIndex((each) => each.row === row)}]`;
}

/** The fields that two revisions of a pool have otherwise. */
export function differences(before: Pool, after: Pool): string[] {
  return fields.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
}
