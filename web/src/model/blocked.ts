/** Who is blocked now, and what for. */
import type { Reply } from "../api/answers";
import type { Binding, Blocked, KeyVerdict, Pool, Usage, UsedDimension } from "../api/types";
import { compare } from "../words/decimal";
import { spentAccounts, usedUp } from "./health";
import { ownRow } from "./keys";

/** A pool with its usage, as the store has them. */
export interface Known {
  readonly pool: Pool;
  readonly usage: Usage | null;
}

export interface BlockedKey {
  readonly pool: Pool;
  readonly verdict: KeyVerdict;
  /** What it met, where its numbers or a block since the page was opened tell. */
  readonly binding: Binding | undefined;
  /** The accounts that have nothing left, where that is why, and the pool as a whole has some. */
  readonly accounts: readonly string[];
}

/** What a key would be answered now that asks for a model of which it has a cap. */
export interface ModelAnswer {
  readonly poolId: string;
  readonly apiKeyId: string;
  readonly reply: Pick<Reply, "decision" | "reason" | "deprioritize" | "wouldBlock" | "retryAt" | "binding">;
}

const stopped = (v: KeyVerdict): boolean => v.decision === "block" || v.wouldBlock === true;

/** Those that are really blocked come first, of them those that are free soonest; who waits for a person comes last. */
function order(a: BlockedKey, b: BlockedKey): number {
  const real = Number(b.verdict.decision === "block") - Number(a.verdict.decision === "block");
  if (real !== 0) return real;
  const [x, y] = [a.verdict.retryAt, b.verdict.retryAt];
  if (x === y) return 0;
  if (x === null) return 1;
  return y === null || x < y ? -1 : 1;
}

/** Every key that is blocked now, for all models or for one, or would be in a pool that observes. blocks are the newest first. */
export function blockedNow(all: readonly Known[], blocks: readonly Blocked[], models: readonly ModelAnswer[] = []): BlockedKey[] {
  return all
    .flatMap(({ pool, usage }) => {
      const whole = (usage?.keys ?? []).filter(stopped).filter(ownRow).map((verdict): BlockedKey => ({
        pool, verdict, binding: bindingOf(pool, usage, verdict, blocks), accounts: accountsBehind(usage, verdict),
      }));
      const named = new Set(whole.map(({ verdict }) => verdict.apiKeyId));
      const ofPool = models.filter((m) => m.poolId === pool.id && m.reply.reason === "model-cap" && !named.has(m.apiKeyId));
      return [...whole, ...ofPool.map((m) => forModel(pool, m))].filter(({ verdict }) => stopped(verdict));
    })
    .sort(order);
}

/** What usage says of a key is of no model: a cap of one is met only by who asks for it. */
function forModel(pool: Pool, { apiKeyId, reply: { decision, reason, deprioritize, wouldBlock, retryAt, binding } }: ModelAnswer): BlockedKey {
  const verdict: KeyVerdict = { apiKeyId, allocation: apiKeyId, decision, reason, deprioritize, retryAt: retryAt ?? null, ...(wouldBlock && { wouldBlock }) };
  return { pool, verdict, binding, accounts: [] };
}

function bindingOf(pool: Pool, usage: Usage | null, v: KeyVerdict, blocks: readonly Blocked[]): Binding | undefined {
  const met = metOf(pool, usage, v);
  // Of several, a block of it says which.
  return met.length === 1 ? met[0] : blocks.find((b) => b.poolId === pool.id && b.apiKeyId === v.apiKeyId && b.reason === v.reason)?.binding;
}

/** The limits of which nothing is left: the pool's, and where it has some left those of its accounts, each once. */
function fullOf(usage: Usage): Binding[] {
  const full: UsedDimension[] = usage.dimensions.filter(usedUp);
  if (full.length > 0) return full;
  return [...new Set(spentAccounts(usage).flatMap(({ window }) => (window === "rate" ? [] : [window])))].map((window) => ({ unit: "percent", window }));
}

/** What can stand against a key by its numbers. Of a reason that is not told by numbers, nothing. */
function metOf(pool: Pool, usage: Usage | null, { apiKeyId, allocation, reason }: KeyVerdict): Binding[] {
  const of = usage?.dimensions ?? [];
  const named = ({ unit, window }: Binding): Binding => ({ unit, window });
  switch (reason) {
    case "global-saturated":
      return usage ? fullOf(usage).map(named) : [];
    case "fair-share":
      return of.filter((d) => d.perKey.some((key) => key.apiKeyId === apiKeyId && key.remaining !== null && compare(key.remaining, 0) <= 0)).map(named);
    case "cap-absolute":
      return (pool.allocations.find((a) => a.apiKeyId === allocation)?.caps ?? []).map(named);
    default:
      return [];
  }
}

function accountsBehind(usage: Usage | null, { reason }: KeyVerdict): string[] {
  if (usage === null || reason !== "global-saturated" || usage.dimensions.some(usedUp)) return [];
  return [...new Set(spentAccounts(usage).map((s) => s.connectionId))];
}

/** Keys that are blocked in one pool for the same. */
export interface BlockedGroup {
  readonly id: string;
  readonly pool: Pool;
  readonly keys: readonly string[];
  /** That of the key that is free soonest. */
  readonly verdict: KeyVerdict;
  readonly binding: Binding | undefined;
  readonly accounts: readonly string[];
  /** Others of them are free in a later minute. */
  readonly spread: boolean;
}

const minuteOf = (time: string | null): string | undefined => time?.slice(0, "2026-09-21T14:00".length);

/** Puts those together of which the same is said, in the order of the first of each. */
export function grouped(rows: readonly BlockedKey[]): BlockedGroup[] {
  const groups = new Map<string, BlockedGroup & { keys: string[]; spread: boolean }>();
  for (const { pool, verdict, binding, accounts } of rows) {
    const id = JSON.stringify([pool.id, verdict.decision, verdict.reason, verdict.detail, binding, verdict.retryAt === null]);
    const known = groups.get(id) ?? { id, pool, keys: [], verdict, binding, accounts, spread: false };
    known.keys.push(verdict.apiKeyId);
    known.spread ||= minuteOf(known.verdict.retryAt) !== minuteOf(verdict.retryAt);
    groups.set(id, known);
  }
  return [...groups.values()];
}
