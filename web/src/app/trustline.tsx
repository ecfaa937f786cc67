import { useAsked } from "../state/asked";
import { useSession } from "../state/session";
import { minute } from "../words/time";
import { href } from "./route";
import { byNoKey, type Fact, freshness, lag, modes, outside, powerless, readingAge, refused, unsure } from "./trust";

/** The line that stands on every page: how fresh its numbers are, and what they leave out. */
export function TrustLine() {
  const engine = useSession().store.engine.value;
  return (
    <section class="trust" aria-label="How far the numbers can be trusted">
      <Freshness />
      <ul class="trust-facts">
        <Item of={lag(engine)} always />
        <OfReadings />
        <OfPools />
        <Item of={refused(engine)} to={href("rejected")} />
        <LeftOut />
      </ul>
    </section>
  );
}

/** Counts up every second while nothing is heard: who listens hears only what has changed before the colon. */
function Freshness() {
  const { store } = useSession();
  const fresh = freshness({ link: store.link.value, heardAt: store.heardAt.value, now: store.now.value });
  return (
    <>
      <p class={`trust-link ${fresh.tone}`}>{fresh.text}</p>
      <p class="hidden-text" role="status">
        {fresh.text.split(":")[0]}
      </p>
    </>
  );
}

interface ItemProps {
  of: Fact;
  /** Where more is said of it, when something is amiss. */
  to?: string;
  /** Told on narrow screens too when nothing is amiss. */
  always?: boolean;
}

function Item({ of: { name, tone, text }, to, always = false }: ItemProps) {
  return (
    <li class={`trust-fact ${tone}${always ? " always" : ""}`}>
      <span class="trust-name">{name}</span> {to !== undefined && tone === "warn" ? <a href={to}>{text}</a> : <span>{text}</span>}
    </li>
  );
}

function OfPools() {
  const pools = useSession().store.pools.value;
  const idle = powerless(pools);
  return (
    <>
      <Item of={modes(pools)} />
      <Item of={idle} to={idle.poolId === undefined ? href("pools") : href("pool", idle.poolId)} />
    </>
  );
}

function OfReadings() {
  const { store } = useSession();
  const all = store.pools.value && store.all.value;
  const lost = byNoKey(all);
  return (
    <>
      <Item of={readingAge(all, store.now.value)} always />
      <Item of={lost} to={href("pool", lost.poolId)} />
    </>
  );
}

/** What no pool knows of, and what was let pass: the stream does not tell either. */
function LeftOut() {
  const { api, store } = useSession();
  const changes = store.changes.value[0]?.seq ?? 0;
  const asked = useAsked(
    String(changes),
    async () => {
      const [connections, keys, passed] = await Promise.all([api.log.connections({ pooled: false }), api.log.keys({ pooled: false }), api.log.failOpens()]);
      return { connections: connections.length, keys: keys.length, passed };
    },
    minute,
  ).value;
  return (
    <>
      <Item of={outside(asked)} to={href("plans")} />
      <Item of={unsure(asked?.passed ?? null)} />
    </>
  );
}
