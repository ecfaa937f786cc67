import { useAsked } from "../state/asked";
import { useSession } from "../state/session";
import { minute } from "../words/time";
import type { Said } from "../words/verdict";
import { href } from "./route";
import { byNoKey, freshness, lag, modes, outside, powerless, readingAge, refused, unsure } from "./trust";

/** The line that stands on every page: how fresh its numbers are, and what they leave out. */
export function TrustLine() {
  const { store } = useSession();
  const known = { link: store.link.value, engine: store.engine.value, heardAt: store.heardAt.value, now: store.now.value };
  const fresh = freshness(known);
  const behind = lag(known.engine);
  return (
    <div class="trust" role="status" aria-label="How far the numbers can be trusted">
      <span class={`trust-item trust-link ${fresh.tone}`}>{fresh.text}</span>
      <span class={`trust-item ${behind.tone}`}>{behind.text}</span>
      <OfPools />
      <OfReadings />
      <Item said={refused(known.engine)} to={href("rejected")} />
      <LeftOut />
    </div>
  );
}

/** Nothing where there is nothing to say. */
function Item({ said, to }: { said: Said | null; to?: string }) {
  if (!said) return null;
  const shown = `trust-item ${said.tone}`;
  return to === undefined ? <span class={shown}>{said.text}</span> : <a class={shown} href={to}>{said.text}</a>;
}

function OfPools() {
  const pools = useSession().store.pools.value ?? [];
  return (
    <>
      <Item said={modes(pools)} />
      <Item said={powerless(pools)} to={href("pools")} />
    </>
  );
}

function OfReadings() {
  const { store } = useSession();
  const lost = byNoKey(store.all.value);
  return (
    <>
      <Item said={readingAge(store.all.value, store.now.value)} />
      <Item said={lost} to={href("pool", lost?.poolId)} />
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
  if (!asked) return null;
  return (
    <>
      <Item said={outside(asked)} to={href("plans")} />
      <Item said={unsure(asked.passed)} />
    </>
  );
}
