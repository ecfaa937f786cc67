/** Who is blocked now, and what for. */
import type { Binding, Blocked, KeyVerdict, Pool, Usage } from "../api/types";
import { ownRow } from "./keys";

/** A pool with its usage, as the store has them. */
export interface Known {
  readonly pool: Pool;
  readonly usage: Usage | null;
}

export interface BlockedKey {
  readonly pool: Pool;
  readonly verdict: KeyVerdict;
  /** What it met, where a block of it was seen since the page was opened. */
  readonly binding: Binding | undefined;
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

/** Every key that is blocked now, or would be in a pool that observes. blocks are the newest first. */
export function blockedNow(all: readonly Known[], blocks: readonly Blocked[]): BlockedKey[] {
  return all
    .flatMap(({ pool, usage }) =>
      (usage?.keys ?? []).filter(stopped).filter(ownRow).map((verdict) => ({ pool, verdict, binding: bindingOf(pool, verdict, blocks) })),
    )
    .sort(order);
}

function bindingOf(pool: Pool, v: KeyVerdict, blocks: readonly Blocked[]): Binding | undefined {
  return blocks.find((b) => b.poolId === pool.id && b.apiKeyId === v.apiKeyId && b.reason === v.reason)?.binding;
}
