import { href } from "../../app/route";
import type { PageProps } from "../../app/pages";
import { Page } from "../../app/page";
import { ButtonLink } from "../../parts/button";
import { Empty } from "../../parts/empty";
import { ErrorNotice } from "../../parts/notice";
import { Waiting } from "../../parts/waiting";
import { draftOf, newDraft } from "../../model/draft";
import { useSession } from "../../state/session";
import { useAnswer } from "../../state/trial";
import { Editor } from "./editor";
import "./edit.css";

/** Creates a pool, or changes one. */
export function EditPage({ id, query }: PageProps) {
  return id === "" ? <NewPool connection={query["connection"] ?? ""} provider={query["provider"] ?? ""} /> : <KnownPool id={id} />;
}

function NewPool({ connection, provider }: { connection: string; provider: string }) {
  return (
    <Page
      title="New pool"
      lead="Say which keys share which accounts of a provider, and how large a part each of them has."
      actions={<ButtonLink href={href("settings")}>Bring pools from an older system</ButtonLink>}
    >
      <Editor pool={null} initial={newDraft(connection, provider)} />
    </Page>
  );
}

function KnownPool({ id }: { id: string }) {
  const { api } = useSession();
  const { value: pool, error } = useAnswer(id, () => api.pools.get(id));
  if (error?.code === "not-found") return <Gone id={id} />;
  return (
    <Page title={pool ? `Change ${pool.name}` : "Change a pool"} lead={pool ? <>The pool <code>{pool.id}</code>. What is saved holds from then on, for everybody.</> : undefined}>
      {error && <ErrorNotice title="The pool could not be read" error={error} />}
      {!pool && !error && <Waiting label="The pool is being read" />}
      {pool && <Editor pool={pool} initial={draftOf(pool)} />}
    </Page>
  );
}

function Gone({ id }: { id: string }) {
  return (
    <Page title="There is no such pool">
      <Empty title={`No pool is called ${id}`} actions={<ButtonLink href={href("pools")}>All pools</ButtonLink>}>
        <p>It may have been deleted. What its keys used stays counted.</p>
      </Empty>
    </Page>
  );
}
