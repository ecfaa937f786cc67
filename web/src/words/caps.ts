/** The bounds that were set for one key, in words. */
import type { Pool } from "../api/types";
import { amount } from "./amount";
import { windowName } from "./terms";

/** "$20.00 per day", "5,000 tokens in every window", "900 tokens per hour with o3": one text for each cap; [] for none. */
export function capWords(pool: Pool, apiKeyId: string): string[] {
  const a = pool.allocations.find((allocation) => allocation.apiKeyId === apiKeyId);
  const caps = (a?.caps ?? []).map((cap) => `${amount(cap.value, cap.unit)} per ${windowName(cap.window)}`);
  const short = a?.capUnit && a.capValue !== undefined ? [`${amount(a.capValue, a.capUnit)} in every window`] : [];
  const models = pool.modelCaps
    .filter((cap) => cap.apiKeyId === apiKeyId)
    .map((cap) => `${amount(cap.capValue, cap.capUnit)} per hour with ${cap.model}`);
  return [...caps, ...short, ...models];
}
