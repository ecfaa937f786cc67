import type { ComponentChildren } from "preact";
import { href } from "../../app/route";
import { figures } from "../../model/figures";
import { useAsked } from "../../state/asked";
import { useSession } from "../../state/session";
import { count } from "../../words/amount";
import { grouped } from "../../words/decimal";
import { percentFigure } from "../../words/percent";
import { hour, minute } from "../../words/time";

/** All pools in five figures. */
export function Summary() {
  const f = figures(useSession().store.all.value);
  return (
    <dl class="card stats">
      <Figure title="Pools" small="each a group of accounts">
        {grouped(String(f.pools))}
      </Figure>
      <Figure title="Keys with a share" small="each counted once">
        {grouped(String(f.keys))}
      </Figure>
      <Figure title="Average use" small={`of ${count(f.knownLimits, "known limit")}`}>
        {f.averageUse === null ? "not known" : <span title={`${f.averageUse} % of the limit`}>{percentFigure(f.averageUse)}</span>}
      </Figure>
      <Figure title="Borrowing now" small="counted in each pool">
        {count(f.borrowing, "key")}
      </Figure>
      <BlockedLately />
    </dl>
  );
}

function Figure({ title, small, children }: { title: string; small?: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="stat">
      <dt>{title}</dt>
      <dd>
        <span class="stat-value">{children}</span>
        <span class="stat-small">{small}</span>
      </dd>
    </div>
  );
}

/** How many rows are asked for: each stands for many blocks. */
const rows = 1000;

/** Asked for anew when another block was heard of, and every minute, because blocks grow old. */
function BlockedLately() {
  const { api, store } = useSession();
  const newest = store.blocks.value[0];
  const lately = useAsked(
    newest ? newest.decisionId : "",
    () => api.answers.list({ decision: "block", from: new Date(store.now.peek() - hour).toISOString(), limit: rows }),
    minute,
  ).value;
  const blocked = lately?.decisions.reduce((n, d) => n + d.count, 0) ?? 0;
  const most = lately?.next === undefined ? "" : "at least ";
  return (
    <Figure title="Blocked in the last hour" small={<a href={href("decisions", "", { decision: "block", span: "hour" })}>All decisions</a>}>
      {lately === null ? "not known yet" : most + count(blocked, "request")}
    </Figure>
  );
}
