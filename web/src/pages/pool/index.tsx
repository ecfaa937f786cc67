import { useState } from "preact/hooks";
import type { PageProps } from "../../app/pages";
import type { Pool, Usage, UsedDimension } from "../../api/types";
import { Page } from "../../app/page";
import { href } from "../../app/route";
import { huesOf } from "../../model/bar";
import { health, tightest } from "../../model/health";
import { may } from "../../model/may";
import { ButtonLink } from "../../parts/button";
import { Choice } from "../../parts/field";
import { Empty } from "../../parts/empty";
import { ErrorNotice } from "../../parts/notice";
import { Tag } from "../../parts/tag";
import { Waiting } from "../../parts/waiting";
import { useSession } from "../../state/session";
import { dimensionTitle, modeMeaning, modeName, ruleMeaning } from "../../words/terms";
import { Answers } from "../pools/answers";
import { about } from "../pools/card";
import { instant } from "../../words/time";
import { DimensionUse } from "../pools/dimension";
import { Legend } from "../pools/legend";
import "../pools/pools.css";
import { BurnRate } from "./burn";
import { Connections } from "./connections";
import { FirstSteps } from "./first";
import { Past } from "./past";
import "./pool.css";
import { Allocations } from "./shares";

/** One pool in full. */
export function PoolPage({ id }: PageProps) {
  const { pools, trouble } = useSession().store;
  const pool = pools.value?.find((known) => known.id === id);
  if (pool) return <Known pool={pool} />;
  return (
    <Page title="Pool">
      {pools.value !== null && <NoSuchPool id={id} />}
      {pools.value === null && (trouble.value ? <ErrorNotice title="The pools could not be read" error={trouble.value} /> : <Waiting label="The pool is being read" />)}
    </Page>
  );
}

function NoSuchPool({ id }: { id: string }) {
  return (
    <Empty title={`There is no pool ${id}`} actions={<ButtonLink href={href("pools")}>All pools</ButtonLink>}>
      <p>It may have been deleted.</p>
    </Empty>
  );
}

function Known({ pool }: { pool: Pool }) {
  const { store, who } = useSession();
  const usage = store.usage(pool.id).value;
  return (
    <Page
      title={pool.name}
      lead={<Lead pool={pool} usage={usage} />}
      actions={
        <>
          <ButtonLink href={href("why", "", { pool: pool.id })}>Why?</ButtonLink>
          <ButtonLink href={href("whatif", pool.id)}>What if?</ButtonLink>
          {may(who.role, "change") && (
            <ButtonLink kind="primary" href={href("edit", pool.id)}>
              Edit
            </ButtonLink>
          )}
        </>
      }
    >
      <FirstSteps pool={pool} usage={usage} />
      {usage === null ? (
        <Waiting label="The numbers are being read" />
      ) : (
        <>
          <Answers of={[{ pool, usage }]} alone />
          <Numbers pool={pool} usage={usage} />
        </>
      )}
    </Page>
  );
}

/** What it is and what it does, and how it is just now. */
function Lead({ pool, usage }: { pool: Pool; usage: Usage | null }) {
  const state = health(pool, usage);
  return (
    <>
      {about(pool)}. {modeName(pool.mode)}: {modeMeaning(pool.mode)}; {ruleMeaning(pool.rule)}.
      <span class="pool-state">
        <Tag tone={state.tone}>{state.text}</Tag> {state.means}
      </span>
    </>
  );
}

const idOf = (d: UsedDimension): string => `${d.unit}/${d.window}`;

/** Everything that is counted in one of the dimensions, of which one is chosen. */
function Numbers({ pool, usage }: { pool: Pool; usage: Usage }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const hues = huesOf(pool.allocations.filter((a) => a.apiKeyId !== "*").map((a) => a.apiKeyId));
  // Not the tightest of now: the page would turn to another while somebody reads.
  const [first] = useState(() => tightest(usage));
  const d = usage.dimensions.find((one) => idOf(one) === (chosen ?? (first && idOf(first)))) ?? usage.dimensions[0];
  return (
    <>
      {usage.dimensions.length > 1 && d && (
        <Choice
          label="What is counted"
          value={idOf(d)}
          options={usage.dimensions.map((one) => ({ value: idOf(one), text: dimensionTitle(one) }))}
          onChange={setChosen}
        />
      )}
      {d ? <Counted pool={pool} usage={usage} dimension={d} hues={hues} /> : <NoDimension pool={pool} />}
      <Connections pool={pool} usage={usage} dimension={d} />
    </>
  );
}

function NoDimension({ pool }: { pool: Pool }) {
  return (
    <Empty title="Nothing is counted" actions={<ButtonLink href={href("plans", pool.connectionIds[0] ?? "")}>To its plan</ButtonLink>}>
      <p>No plan says what these connections may use, so there is nothing to compare with.</p>
    </Empty>
  );
}

export interface CountedProps {
  pool: Pool;
  usage: Usage;
  dimension: UsedDimension;
  hues: ReadonlyMap<string, number>;
}

function Counted(props: CountedProps) {
  const { usage, dimension: d, hues } = props;
  return (
    <>
      <div class="card pool-bar">
        <DimensionUse dimension={d} hues={hues} at={instant(usage.asOf.time)} />
        <Legend rule={props.pool.rule} />
      </div>
      <Allocations {...props} />
      <BurnRate {...props} key={`burn ${idOf(d)}`} />
      <Past {...props} />
    </>
  );
}
