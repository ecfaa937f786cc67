import { href } from "../../app/route";
import type { Pool, UsedDimension } from "../../api/types";
import { huesOf } from "../../model/bar";
import { type Health, health, tightest } from "../../model/health";
import { may } from "../../model/may";
import { Tag } from "../../parts/tag";
import { useSession } from "../../state/session";
import { count } from "../../words/amount";
import { modeMeaning, modeName } from "../../words/terms";
import { isolated } from "../../words/isolated";
import { instant } from "../../words/time";
import { DimensionUse } from "./dimension";
import { KeyList } from "./keys";

/** One pool: its name, how it is, and a bar for each thing that is counted. */
export function PoolCard({ pool }: { pool: Pool }) {
  const usage = useSession().store.usage(pool.id).value;
  const state = health(pool, usage);
  const hues = huesOf(pool.allocations.filter((a) => a.apiKeyId !== "*").map((a) => a.apiKeyId));
  const first = usage && tightest(usage);
  return (
    <article class="card pool-card">
      <header class="pool-head">
        <div>
          <h2>
            <a href={href("pool", pool.id)}>{pool.name}</a>
          </h2>
          <p class="faint">{about(pool)}</p>
        </div>
        <Tags pool={pool} state={state} />
      </header>
      {usage?.dimensions.map((d) => (
        <DimensionUse key={`${d.unit}/${d.window}`} dimension={d} hues={hues} at={instant(usage.asOf.time)} />
      ))}
      {usage !== null && pool.mode !== "off" && !usage.enforcing && <Powerless pool={pool} means={state.means} />}
      {usage?.dimensions.length === 0 && <p class="soft">No plan says what these connections may use, so there is nothing to compare with.</p>}
      {first && usage && <KeyList pool={pool} usage={usage} dimension={first} hues={hues} several={several(usage.dimensions)} />}
    </article>
  );
}

/** How it is, and before that whether anybody would feel it. */
export function Tags({ pool, state }: { pool: Pool; state: Health }) {
  return (
    <p class="tags">
      {pool.mode === "observe" && <Tag title={`${modeName(pool.mode)}: ${modeMeaning(pool.mode)}.`}>Observes</Tag>}
      <Tag tone={state.tone} title={state.means}>
        {state.text}
      </Tag>
    </p>
  );
}

const several = (dimensions: readonly UsedDimension[]): boolean => dimensions.length > 1;

/** Why nobody is held to anything here, and what can be done. */
function Powerless({ pool, means }: { pool: Pool; means: string }) {
  const change = may(useSession().who.role, "change");
  return (
    <p class="pool-hint warn-text">
      {means} {change && <a href={href("plans", pool.connectionIds[0] ?? "")}>Set a limit</a>}
    </p>
  );
}

/** How many connections are named: of more, one only wants to know how many. */
const named = 3;

/** "kimi · kimi-berlin, kimi-lisbon · 3 allocations". */
export function about(pool: Pool): string {
  const ids = pool.connectionIds;
  const connections = ids.length <= named ? ids.map(isolated).join(", ") : count(ids.length, "connection");
  return [isolated(pool.provider), connections, count(pool.allocations.length, "allocation")].join(" · ");
}
