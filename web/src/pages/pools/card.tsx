import { href } from "../../app/route";
import type { Pool, UsedDimension } from "../../api/types";
import { huesOf } from "../../model/bar";
import { health, tightest } from "../../model/health";
import { Tag } from "../../parts/tag";
import { useSession } from "../../state/session";
import { count } from "../../words/amount";
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
        <Tag tone={state.tone} title={state.means}>
          {state.text}
        </Tag>
      </header>
      {usage?.dimensions.map((d) => (
        <DimensionUse key={`${d.unit}/${d.window}`} dimension={d} hues={hues} />
      ))}
      {usage?.dimensions.length === 0 && <p class="soft">No plan says what these connections may use, so there is nothing to compare with.</p>}
      {first && usage && <KeyList pool={pool} usage={usage} dimension={first} hues={hues} several={several(usage.dimensions)} />}
    </article>
  );
}

const several = (dimensions: readonly UsedDimension[]): boolean => dimensions.length > 1;

/** "kimi · 2 connections · 3 keys". */
function about(pool: Pool): string {
  return [pool.provider, count(pool.connectionIds.length, "connection"), count(pool.allocations.length, "allocation")].join(" · ");
}
