/** What keys would be answered now that ask for a model of which they have a cap: usage tells of no model. */
import type { Known, ModelAnswer } from "../model/blocked";
import { second } from "../words/time";
import { useAsked } from "./asked";
import { useSession } from "./session";

/** How many are asked for at once: each is a question of its own. */
const most = 50;

/** The answers to all caps of models of these pools; none while they were not asked for. */
export function useCappedModels(all: readonly Known[]): readonly ModelAnswer[] {
  const { api, store } = useSession();
  // Who has no share of its own is many keys, of which none can be asked for.
  const caps = all.flatMap(({ pool }) => pool.modelCaps.filter((cap) => cap.apiKeyId !== "*").map((cap) => ({ ...cap, poolId: pool.id }))).slice(0, most);
  const ask = ({ poolId, apiKeyId, model }: (typeof caps)[number]): Promise<ModelAnswer> =>
    api.answers.preview({ apiKeyId, pool: poolId, model }).then((reply) => ({ poolId, apiKeyId, reply }));
  const newest = caps.length === 0 ? "" : store.blocks.value[0]?.decisionId ?? "";
  const of = JSON.stringify([newest, caps]);
  return useAsked(of, () => Promise.all(caps.map(ask)), 5 * second).value ?? [];
}
