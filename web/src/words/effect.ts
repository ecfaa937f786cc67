/** What a change would do to a key, in one line. */
import type { Effect } from "../api/types";
import { count } from "./amount";
import { dimensionName, reasonShort } from "./terms";
import { duration } from "./time";

/** "everybody without a share of their own" is what "*" stands for. */
export function keyName(apiKeyId: string): string {
  return apiKeyId === "*" ? "everyone else" : apiKeyId;
}

/** "2 keys", "everyone else", "2 keys and everyone else": each once, whatever it is blocked for. */
export function whom(effects: readonly Effect[]): string {
  const named = new Set(effects.filter(({ apiKeyId }) => apiKeyId !== "*").map(({ apiKeyId }) => apiKeyId));
  const others = effects.some(({ apiKeyId }) => apiKeyId === "*") ? [keyName("*")] : [];
  return [...(named.size > 0 ? [count(named.size, "key")] : []), ...others].join(" and ");
}

/** "over its fair share of requests per hour with k2". */
function why({ reason, binding }: Effect): string {
  if (!binding) return reasonShort(reason);
  const joint = reason === "fair-share" ? "of" : "on";
  const model = binding.model === undefined ? "" : ` with ${binding.model}`;
  return `${reasonShort(reason)} ${joint} ${dimensionName(binding)}${model}`;
}

/** "over its fair share of requests per hour, for 4 min 10 s", "suspended, until somebody lifts that". */
export function wouldBlock(effect: Effect): string {
  const { reason, retryAfterMs } = effect;
  if (retryAfterMs !== null) return `${why(effect)}, for ${duration(retryAfterMs)} at most`;
  return reason === "suspended" ? `${why(effect)}, until somebody lifts that` : `${why(effect)}, and not by itself free again`;
}

/** "was at its cap on US dollars per day". */
export function wouldFree(effect: Effect): string {
  return `was ${why(effect)}`;
}
