import { useState } from "preact/hooks";
import type { Pool } from "../../api/types";
import { go, href } from "../../app/route";
import { documentOf, type Draft, patchOf } from "../../model/draft";
import { Button, ButtonLink } from "../../parts/button";
import { ErrorNotice, Notice } from "../../parts/notice";
import { Signed } from "../../parts/signed";
import { useSession } from "../../state/session";
import { useSignature } from "../../state/signature";
import { useWriting } from "../../state/trial";
import { DeleteDialog } from "./delete";
import type { PoolTrial } from "./form";
import { LostRace } from "./lost";
import type { Others } from "./others";
import { TrialSaid } from "./said";

interface Props {
  base: Pool | null;
  draft: Draft;
  trial: PoolTrial;
  /** Nothing was changed. */
  idle: boolean;
  others: Others;
  /** What somebody else did while nothing was typed, and is in the form already; "" for nothing. */
  news: string;
  /** Goes on from another revision of the pool, or as with one that is new, with this in the form. */
  onFrom: (base: Pool | null, draft: Draft) => void;
}

/** What saving would do, and saving. */
export function Save({ base, draft, trial, idle, others, news, onFrom }: Props) {
  const { api, refresh } = useSession();
  const signature = useSignature();
  const [deleting, setDeleting] = useState(false);
  const [saved, setSaved] = useState(false);
  const writing = useWriting();
  const under = writing.busy || saved; // what is newer then may be one's own change
  const save = (): void =>
    writing.run(
      () => (base ? api.pools.patch(base.id, patchOf(base, draft), { ...signature.write, revision: base.revision }) : api.pools.create(documentOf(draft), signature.write)),
      (pool) => {
        setSaved(true);
        void refresh().then(() => go("pool", pool.id));
      },
    );
  const from = (to: Pool | null, shown: Draft): void => {
    writing.forget();
    onFrom(to, shown);
  };
  const lost = base !== null && (writing.error?.code === "lost-race" || writing.error?.code === "not-found");
  return (
    <section class="card panel save-panel">
      <h2>Before it is saved</h2>
      {news && <Notice title={news} />}
      {!others.gone && <TrialSaid trial={trial} idle={idle} isNew={base === null} />}
      {base && !under && (!idle || others.gone) && (
        <LostRace base={base} draft={draft} others={others} said={lost ? writing.error : null} onFrom={from} onNew={() => from(null, draft)} />
      )}
      {writing.error && !lost && <ErrorNotice title="Not saved" error={writing.error} />}
      <Signed of={signature} error={writing.error} />
      <div class="save-actions">
        <Button kind="primary" busy={under} disabled={idle || others.gone} onClick={save}>
          {base ? "Save the pool" : "Create the pool"}
        </Button>
        <ButtonLink href={base ? href("pool", base.id) : href("pools")}>Leave it</ButtonLink>
        {base && !others.gone && (
          <Button kind="danger" onClick={() => setDeleting(true)}>
            Delete…
          </Button>
        )}
      </div>
      {deleting && base && <DeleteDialog pool={base} onClose={() => setDeleting(false)} />}
    </section>
  );
}
