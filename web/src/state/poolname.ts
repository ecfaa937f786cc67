import { useSession } from "./session";

/** The name of a pool, as people say it; its id while the name is not known. */
export function usePoolName(): (poolId: string) => string {
  const { pools } = useSession().store;
  return (poolId) => pools.value?.find(({ id }) => id === poolId)?.name ?? poolId;
}
