import type { Effect, Trial } from "../api/types";
import { keyName, whom, wouldBlock, wouldFree } from "../words/effect";
import { Tag } from "./tag";

interface Props {
  trial: Trial;
  /** Pools by their names, where keys of several may be meant; a pool that it does not have is said by its id. */
  poolName?: (poolId: string) => string;
}

/** Who would be blocked, and who freed, if the change were made now. */
export function Effects({ trial: { blocked, freed }, poolName }: Props) {
  if (blocked.length === 0 && freed.length === 0) return <p class="soft">Nobody would be blocked or freed right now.</p>;
  return (
    <div class="effects">
      {blocked.length > 0 && <Group title={`${capital(whom(blocked))} would be blocked right now`} of={blocked} say={wouldBlock} tone="bad" {...(poolName ? { poolName } : {})} />}
      {freed.length > 0 && <Group title={`${capital(whom(freed))} would be free again right now`} of={freed} say={wouldFree} tone="good" {...(poolName ? { poolName } : {})} />}
    </div>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

interface GroupProps {
  title: string;
  of: readonly Effect[];
  say: (effect: Effect) => string;
  tone: "bad" | "good";
  poolName?: (poolId: string) => string;
}

/** A key may be in it twice, for a model and for all. */
const effectKey = ({ poolId, apiKeyId, reason, binding }: Effect): string => JSON.stringify([poolId, apiKeyId, reason, binding]);

function Group({ title, of, say, tone, poolName }: GroupProps) {
  return (
    <section>
      <h3>{title}</h3>
      <ul>
        {of.map((effect) => (
          <li key={effectKey(effect)}>
            <Tag tone={tone}>{tone === "bad" ? "blocked" : "freed"}</Tag>{" "}
            <strong>{keyName(effect.apiKeyId)}</strong>
            {poolName && <span class="faint"> in {poolName(effect.poolId)}</span>}: {say(effect)}
          </li>
        ))}
      </ul>
    </section>
  );
}
