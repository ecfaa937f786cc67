import { useState } from "preact/hooks";
import type { CatalogueEntry, Plan, Plans } from "../../api/types";
import { go, href } from "../../app/route";
import type { PageProps } from "../../app/pages";
import { Page } from "../../app/page";
import { Button } from "../../parts/button";
import { Empty } from "../../parts/empty";
import { Field } from "../../parts/field";
import { ErrorNotice } from "../../parts/notice";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import { usePoolName } from "../../state/poolname";
import { useMay, useSession } from "../../state/session";
import { useAnswer } from "../../state/trial";
import { count } from "../../words/amount";
import { dimensionText } from "../../words/plan";
import { PlanPage } from "./plan";
import { SourceTag } from "./source";
import "./plans.css";

/** What each connection may use, and where that comes from. */
export function PlansPage({ id }: PageProps) {
  return id === "" ? <AllPlans /> : <PlanPage connectionId={id} />;
}

function AllPlans() {
  const { api } = useSession();
  const { value, error } = useAnswer("plans", () => api.plans.list());
  return (
    <Page title="Plans" lead="What each connection may use: set by hand, or what its provider is known to sell.">
      {error && <ErrorNotice title="The plans could not be read" error={error} />}
      {!value && !error && <Waiting label="The plans are being read" />}
      {value && <Lists of={value} />}
    </Page>
  );
}

/** Whether a row is meant by what was typed. */
const meant = (text: string, ...names: readonly string[]): boolean => names.some((name) => name.toLowerCase().includes(text.trim().toLowerCase()));

/** How many rows are shown: nobody reads more, and all of ten thousand would take long to draw. */
const atOnce = 200;

function Lists({ of: { plans, catalogue } }: { of: Plans }) {
  const [text, setText] = useState("");
  const may = useMay("change");
  const poolName = usePoolName();
  const found = plans.filter((plan) => meant(text, plan.connectionId, plan.provider, plan.poolId ?? "", poolName(plan.poolId ?? "")));
  const shown = found.slice(0, atOnce);
  const entries = catalogue.filter((entry) => meant(text, entry.provider, ...entry.aliases));
  const known = plans.some((plan) => plan.connectionId === text.trim());
  return (
    <>
      <form
        class="plan-search"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim()) go("plans", text.trim());
        }}
      >
        <Field label="Connection or provider">
          {(control) => <input {...control} class="input" type="search" value={text} onInput={(e) => setText(e.currentTarget.value)} autocomplete="off" />}
        </Field>
        {text.trim() !== "" && <Button type="submit">{known || !may ? "Open its plan" : `Set a plan for the connection ${text.trim()}`}</Button>}
      </form>
      <section class="list">
        <h2>Connections</h2>
        {found.length > shown.length && <p class="soft">The first {atOnce} of {count(found.length, "connection")} are shown: say more of the name of another.</p>}
        {shown.length === 0 ? (
          <Empty title={plans.length === 0 ? "No connection is known yet" : "No connection is called like that"}>
            <p>A connection is known once an event named it, a pool has it, or a plan was set for it.</p>
          </Empty>
        ) : (
          <Table caption="Plans of the connections" columns={columns} rows={shown} rowKey={(plan) => plan.connectionId} />
        )}
      </section>
      <section class="list">
        <h2>What providers sell</h2>
        <p class="soft">The catalogue that holds for a connection without a plan of its own.</p>
        <Table caption="The catalogue" columns={catalogueColumns} rows={entries} rowKey={(entry) => entry.provider} />
      </section>
    </>
  );
}

const byText = <Row,>(of: (row: Row) => string) => (a: Row, b: Row): number => of(a).localeCompare(of(b));

const columns: readonly Column<Plan>[] = [
  {
    id: "connection", title: "Connection", compare: byText((plan) => plan.connectionId),
    cell: (plan) => <a href={href("plans", plan.connectionId)}>{plan.connectionId}</a>,
  },
  { id: "provider", title: "Provider", compare: byText((plan) => plan.provider), cell: (plan) => plan.provider || <span class="faint">nobody said</span> },
  {
    id: "pool", title: "Pool", compare: byText((plan) => plan.poolId ?? ""),
    cell: (plan) => <PoolLink poolId={plan.poolId} />,
  },
  { id: "source", title: "Where it comes from", compare: byText((plan) => plan.source), cell: (plan) => <SourceTag plan={plan} /> },
  { id: "dimensions", title: "What it may use", cell: (plan) => <Dimensions of={plan} none="no limit" /> },
];

function PoolLink({ poolId }: { poolId: string | null }) {
  const poolName = usePoolName();
  return poolId === null ? <span class="faint">in no pool</span> : <a href={href("pool", poolId)}>{poolName(poolId)}</a>;
}

const catalogueColumns: readonly Column<CatalogueEntry>[] = [
  { id: "provider", title: "Provider", compare: byText((entry) => entry.provider), cell: (entry) => entry.provider },
  { id: "aliases", title: "Also called", cell: (entry) => entry.aliases.join(", ") || <span class="faint">nothing else</span> },
  { id: "dimensions", title: "What it sells", cell: (entry) => <Dimensions of={entry} none="not known" /> },
];

function Dimensions({ of: { dimensions }, none }: { of: Pick<Plan, "dimensions">; none: string }) {
  if (dimensions.length === 0) return <span class="faint">{none}</span>;
  return (
    <ul class="plan-dimensions">
      {dimensions.map((d) => (
        <li key={`${d.unit}/${d.window}`}>{dimensionText(d)}</li>
      ))}
    </ul>
  );
}
