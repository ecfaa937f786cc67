import { useState } from "preact/hooks";
import { Page } from "../../app/page";
import type { PageProps } from "../../app/pages";
import { go, href } from "../../app/route";
import type { WhatIfQuestion } from "../../api/answers";
import type { Pool } from "../../api/types";
import { withFilter } from "../../model/filters";
import { type Base, ranges, type Tried, triedOf, trialOf } from "../../model/trial";
import { AuditState } from "../../parts/audit";
import { Button, ButtonLink } from "../../parts/button";
import { Empty } from "../../parts/empty";
import { Choice } from "../../parts/field";
import { FilterBar, FilterSelect } from "../../parts/filters";
import { ErrorNotice, Notice } from "../../parts/notice";
import { Waiting } from "../../parts/waiting";
import { useAnswer } from "../../state/answer";
import { useAudit } from "../../state/audit";
import { useMay, useSession } from "../../state/session";
import { Outcome } from "./outcome";
import { RulesForm } from "./rules";
import "../../parts/answer.css";
import "./whatif.css";

const rangeNames: Record<string, string> = { hour: "last hour", "6h": "last 6 hours", day: "last day", week: "last 7 days" };

/** What would have been under other rules. */
export function WhatIfPage({ query }: PageProps) {
  const { pools, trouble } = useSession().store;
  const all = pools.value;
  const pool = all?.find((one) => one.id === query["pool"]) ?? all?.[0];
  return (
    <Page title="What if" lead="Try other weights, policies, limits or settings on what really happened. Nothing is changed: the log is read twice, once as it was and once with the rules below.">
      {all === null && (trouble.value ? <ErrorNotice title="The pools could not be read" error={trouble.value} /> : <Waiting label="The pools are being read" cards={1} />)}
      {all?.length === 0 && <NoPools />}
      {all && pool && <Trial key={pool.id} pool={pool} pools={all} query={query} />}
    </Page>
  );
}

function NoPools() {
  const create = (
    <ButtonLink kind="primary" href={href("edit")}>
      Create the first one
    </ButtonLink>
  );
  return (
    <Empty title="No pool yet" actions={useMay("change") && create}>
      <p>Other rules can be tried where there are some.</p>
    </Empty>
  );
}

interface TrialProps {
  pool: Pool;
  pools: readonly Pool[];
  query: Readonly<Record<string, string>>;
}

/** Reads what can be tried beside the pool. A trial of weights needs none of it, so what cannot be read is left out. */
function Trial({ pool, pools, query }: TrialProps) {
  const { api } = useSession();
  const { answer } = useAnswer(async () => {
    const [plans, settings] = await Promise.allSettled([Promise.all(pool.connectionIds.slice(0, mostPlans).map((id) => api.plans.get(id))), api.settings.get()]);
    return { plans: plans.status === "fulfilled" ? plans.value : [], settings: settings.status === "fulfilled" ? settings.value : null };
  }, `${pool.id} ${pool.revision}`);
  if (!answer) return <Waiting label="The rules are being read" cards={1} />;
  return <Loaded now={{ pool, ...answer }} pools={pools} query={query} />;
}

/** A pool may have hundreds of connections, and nobody changes all their limits by hand. */
const mostPlans = 20;

/** A question that was put, and when: the same one may be put again later. */
interface Put {
  readonly question: WhatIfQuestion;
  readonly round: number;
}

function Loaded({ now, pools, query }: Omit<TrialProps, "pool"> & { now: Base }) {
  const { api, store } = useSession();
  const { pool } = now;
  const [base, setBase] = useState(now); // others may change it while somebody tries
  const [tried, setTried] = useState<Tried>(() => triedOf(now));
  const [put, setPut] = useState<Put | null>(null);
  const range = query["range"] && query["range"] in ranges ? query["range"] : "day";
  const audit = useAudit(put && ((signal) => api.answers.whatIf(put.question, signal)), String(put?.round));
  const current = trialOf(base, tried, range, 0);
  const stale = put !== null && JSON.stringify({ ...put.question, from: "" }) !== JSON.stringify({ ...current, from: "" });
  const reading = audit.stage === "reads" || audit.stage === "waits";
  const start = (): void => setPut({ question: trialOf(base, tried, range, store.now.peek()), round: (put?.round ?? 0) + 1 });
  const renew = (): void => {
    setBase(now);
    setTried(triedOf(now));
  };
  return (
    <>
      <FilterBar label="What is tried on which time">
        <FilterSelect label="Pool" value={pool.id} options={pools.map((one) => ({ value: one.id, text: one.name }))} onChange={(id) => go("whatif", "", withFilter(query, "pool", id))} />
        <div class="filter-wide">
          <span class="field-label">On what happened in the</span>
          <Choice
            label="On what happened in the"
            value={range}
            options={Object.keys(ranges).map((name) => ({ value: name, text: rangeNames[name] ?? name }))}
            onChange={(name) => go("whatif", "", withFilter({ ...query, pool: pool.id }, "range", name))}
          />
        </div>
      </FilterBar>
      {base.pool.revision !== pool.revision && (
        <Notice tone="warn" title="The pool was changed meanwhile" actions={<Button onClick={renew}>Take the new rules</Button>}>
          <p>What you try begins with the rules as they were before.</p>
        </Notice>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        <RulesForm base={base} tried={tried} put={put?.question ?? null} error={audit.error} busy={put !== null && reading} onChange={setTried} />
      </form>
      {put && <AuditState of={audit} label="The log is being read twice" failed="This could not be tried" />}
      {put && reading && !audit.answer && <Waiting label="The log is being read twice" cards={1} />}
      {audit.answer && !audit.error && (
        <div class="findings" aria-busy={reading}>
          {stale && !reading && <Notice title="The rules above were changed since: this is the outcome of those before" />}
          <Outcome of={audit.answer} poolId={pool.id} />
        </div>
      )}
    </>
  );
}
