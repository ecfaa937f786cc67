import { useState } from "preact/hooks";
import type { Pool } from "../../api/types";
import { go, href } from "../../app/route";
import { documentOf, type Draft, patchOf } from "../../model/draft";
import { Button, ButtonLink } from "../../parts/button";
import { Effects } from "../../parts/effects";
import { Field } from "../../parts/field";
import { ErrorNotice, Notice } from "../../parts/notice";
import { useSession } from "../../state/session";
import { useWriting } from "../../state/trial";
import { DeleteDialog } from "./delete";
import { elsewhere, type PoolTrial } from "./form";
import { LostRace } from "./lost";

interface Props {
  base: Pool | null;
  draft: Draft;
  trial: PoolTrial;
  /** Nothing was changed. */
  idle: boolean;
  onAgain: () => void;
}

/** What saving would do, and saving. */
export function Save({ base, draft, trial, idle, onAgain }: Props) {
  const { api, refresh } = useSession();
  const [reason, setReason] = useState("");
  const [deleting, setDeleting] = useState(false);
  const [saved, setSaved] = useState(false);
  const writing = useWriting();
  const under = writing.busy || saved; // what is newer then may be one's own change
  const save = (revision?: number): void =>
    writing.run(
      () => (base ? api.pools.patch(base.id, patchOf(base, draft), { ...(revision === undefined ? {} : { revision }), reason }) : api.pools.create(documentOf(draft), { reason })),
      (pool) => {
        setSaved(true);
        void refresh().then(() => go("pool", pool.id));
      },
    );
  const lost = writing.error?.code === "lost-race";
  return (
    <section class="card panel save-panel">
      <h2>Before it is saved</h2>
      <TrialSaid trial={trial} idle={idle} isNew={base === null} />
      {base && !under && <LostRace base={base} draft={draft} said={lost ? writing.error : null} onTheirs={onAgain} onMine={save} />}
      {writing.error && !lost && <ErrorNotice title="Not saved" error={writing.error} />}
      <Field label="Why" hint="Kept in the log with the change.">
        {(control) => <input {...control} class="input" value={reason} onInput={(e) => setReason(e.currentTarget.value)} autocomplete="off" />}
      </Field>
      <div class="save-actions">
        <Button kind="primary" busy={under} disabled={idle} onClick={() => save(base?.revision)}>
          {base ? "Save the pool" : "Create the pool"}
        </Button>
        <ButtonLink href={base ? href("pool", base.id) : href("pools")}>Leave it</ButtonLink>
        {base && (
          <Button kind="danger" onClick={() => setDeleting(true)}>
            Delete…
          </Button>
        )}
      </div>
      {deleting && base && <DeleteDialog pool={base} onClose={() => setDeleting(false)} />}
    </section>
  );
}

function TrialSaid({ trial, idle, isNew }: { trial: PoolTrial; idle: boolean; isNew: boolean }) {
  const { error, value } = trial;
  if (idle) return <p class="soft">{isNew ? "Who would be blocked is said here as you go." : "Nothing is changed yet."}</p>;
  if (error && error.faults.length === 0) return <ErrorNotice title="This cannot be tried" error={error} />;
  if (error) {
    const other = elsewhere(error);
    return (
      <div aria-live="polite">
        <p class="soft">Not everything is right yet: see what is said beside the fields.</p>
        {other.map(({ field, problem }) => (
          <p key={field + problem} class="bad-text">
            <code>{field}</code> {problem}
          </p>
        ))}
      </div>
    );
  }
  if (!value) return <p class="soft">It is being tried…</p>;
  return (
    <div class={trial.busy ? "trying" : ""} aria-live="polite">
      <Effects trial={value} />
      {value.pool.warnings.length > 0 && (
        <Notice tone="warn" title="Allowed, and perhaps not meant">
          <ul class="warnings">
            {value.pool.warnings.map(({ field, problem }) => (
              <li key={field + problem}>
                <code>{field}</code> {problem}
              </li>
            ))}
          </ul>
        </Notice>
      )}
    </div>
  );
}
