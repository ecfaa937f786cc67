import { useRef } from "preact/hooks";
import type { Change, Pool } from "../../api/types";
import { useSession } from "../../state/session";

/** What became of a pool since it was read. */
export interface Others {
  /** The pool as somebody else made it; null while nobody did. */
  readonly newer: Pool | null;
  /** Somebody deleted it. */
  readonly gone: boolean;
  /** The change that deleted it, if it was told. */
  readonly deletion: Change | null;
}

/** Follows what others do to the pool. A pool that was never in the list is newer than the list, not gone. */
export function useOthers(base: Pool | null): Others {
  const { store } = useSession();
  const listed = useRef(false);
  const there = base && (store.pools.value?.find((pool) => pool.id === base.id) ?? null);
  if (there) listed.current = true;
  const gone = base !== null && listed.current && !there;
  return {
    newer: base && there && there.revision > base.revision ? there : null,
    gone,
    deletion: (gone && store.changes.value.find((change) => change.kind === "pool" && change.id === base.id && change.change === "delete")) || null,
  };
}
