import { href } from "../../app/route";
import { Page } from "../../app/page";
import { may } from "../../model/may";
import { ButtonLink } from "../../parts/button";
import { Empty } from "../../parts/empty";
import { ErrorNotice } from "../../parts/notice";
import { Waiting } from "../../parts/waiting";
import { useSession } from "../../state/session";
import { Answers } from "./answers";
import { PoolCard } from "./card";
import { Intro } from "./intro";
import { Legend } from "./legend";
import { Summary } from "./summary";
import "./pools.css";

/** All pools: who uses what of which account. */
export function PoolsPage() {
  const { store, who } = useSession();
  const { pools, trouble } = store;
  const create = may(who.role, "change");
  return (
    <Page
      title="Pools"
      lead="Accounts that several keys share: who uses what, and what is left."
      actions={
        create && (
          <ButtonLink kind="primary" href={href("edit")}>
            New pool
          </ButtonLink>
        )
      }
    >
      <Intro />
      {pools.value === null && (trouble.value ? <ErrorNotice title="The pools could not be read" error={trouble.value} /> : <Waiting label="The pools are being read" />)}
      {pools.value?.length === 0 && <NoPools create={create} />}
      {pools.value && pools.value.length > 0 && (
        <>
          <AllAnswers />
          <Summary />
          <Legend />
          <ul class="cards">
            {pools.value.map((pool) => (
              <li key={pool.id}>
                <PoolCard pool={pool} />
              </li>
            ))}
          </ul>
        </>
      )}
    </Page>
  );
}

/** Drawn anew whenever a pool changes: by itself, so that the cards are not. */
function AllAnswers() {
  return <Answers of={useSession().store.all.value} />;
}

function NoPools({ create }: { create: boolean }) {
  return (
    <Empty
      title="No pool yet"
      actions={
        create && (
          <ButtonLink kind="primary" href={href("edit")}>
            Create the first one
          </ButtonLink>
        )
      }
    >
      <p>A pool says which keys share which accounts of a provider, and how large a part each of them has.</p>
    </Empty>
  );
}
