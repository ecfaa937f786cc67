/** How one key stands, in each of its pools and of what is counted there. */
import type { KeyUse, KeyVerdict, Usage, UsedDimension } from "../api/types";

export interface OwnPool {
  readonly id: string;
  readonly usage: Usage;
}

export interface OwnRow {
  readonly id: string;
  readonly pool: string;
  readonly dimension: UsedDimension;
  readonly use: KeyUse;
  readonly verdict: KeyVerdict | undefined;
}

/** The rows of the key, pool by pool; none of a pool that does not show it. */
export function ownRows(key: string, pools: readonly OwnPool[]): OwnRow[] {
  return pools.flatMap(({ id, usage }) =>
    usage.dimensions.flatMap((dimension) => {
      const use = dimension.perKey.find((one) => one.apiKeyId === key);
      if (!use) return [];
      const verdict = usage.keys.find((one) => one.apiKeyId === key);
      return [{ id: `${id}/${dimension.unit}/${dimension.window}`, pool: id, dimension, use, verdict }];
    }),
  );
}
