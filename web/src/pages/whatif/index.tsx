import { useState } from "preact/hooks";
import { Page } from "../../app/page";
import type { PageProps } from "../../app/pages";
import { go, href } from "../../app/route";
import { patiently } from "../../api/patient";
import type { WhatIfQuestion } from "../../api/answers";
import type { Pool } from "../../api/types";
import { withFilter } from "../../model/filters";
import { ranges, type Tried, triedOf, trialOf } from "../../model/trial";
import { Button, ButtonLink } from "../../parts/button";
import { Empty } from "../../parts/empty";
import { Choice } from "../../parts/field";
import { FilterBar, FilterSelect } from "../../parts/filters";
import { ErrorNotice, Notice } from "../../parts/notice";
import { Waiting } from "../../parts/waiting";
import { useAnswer } from "../../state/answer";
import { useSession } from "../../state/session";
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
    <Page title="What if" lead="Try other weights or policies on what really happened. Nothing is changed: the log is read twice, once as it was and once with the rules below.">
      {all === null && (trouble.value ? <ErrorNotice title="The pools could not be read" error={trouble.value} /> : <Waiting label="The pools are being read" cards={1} />)}
      {all?.length === 0 && <NoPools />}
      {all && pool && <Trial key={pool.id} pool={pool} pools={all} query={query} />}
    </Page>
  );
}

function NoPools() {
  return (
    <Empty
      title="No pool yet"
      actions={
        <ButtonLink kind="primary" href={href("edit")}>
          Create the first one
        </ButtonLink>
      }
    >
      <p>Other rules can be tried where there are some.</p>
    </Empty>
  );
}

interface TrialProps {
  pool: Pool;
  pools: readonly Pool[];
  query: Readonly<Record<string, string>>;
}

/** A question that was put, and when: the same one may be put again later. */
interface Put {
  readonly question: WhatIfQuestion;
  readonly round: number;
}

function Trial({ pool, pools, query }: TrialProps) {
  const { api, store } = useSession();
  const [base, setBase] = useState(pool); // others may change it while somebody tries
  const [tried, setTried] = useState<Tried>(() => triedOf(pool));
  const [put, setPut] = useState<Put | null>(null);
  const range = query["range"] && query["range"] in ranges ? query["range"] : "day";
  const ask = put && ((signal: AbortSignal) => patiently((turn) => api.answers.whatIf(put.question, turn), signal));
  const { answer, error, busy } = useAnswer(ask, String(put?.round));
  const current = trialOf(base, tried, range, 0);
  const stale = put !== null && JSON.stringify({ ...put.question, from: "" }) !== JSON.stringify({ ...current, from: "" });
  const start = (): void => setPut({ question: trialOf(base, tried, range, store.now.peek()), round: (put?.round ?? 0) + 1 });
  const renew = (): void => {
    setBase(pool);
    setTried(triedOf(pool));
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
      {base.revision !== pool.revision && (
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
        <RulesForm pool={base} tried={tried} error={error} busy={busy && put !== null} onChange={setTried} />
      </form>
      {error && <ErrorNotice title="This could not be tried" error={error} />}
      {put && busy && !answer && <Waiting label="The log is being read twice" cards={1} />}
      {answer && !error && (
        <div class="findings" aria-busy={busy}>
          {stale && !busy && <Notice title="The rules above were changed since: this is the outcome of those before" />}
          <Outcome of={answer} poolId={pool.id} />
        </div>
      )}
    </>
  );
}
