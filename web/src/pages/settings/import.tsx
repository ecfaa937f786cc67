import { useState } from "preact/hooks";
import { go } from "../../app/route";
import { keptText, legacyPlace, readLegacy } from "../../state/legacy";
import { importer } from "../../state/migration";
import { useSession } from "../../state/session";
import { useWriting } from "../../state/trial";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { ErrorNotice, Notice } from "../../parts/notice";
import { count } from "../../words/amount";

/** Pools of an older system, pasted or from a file: all of them or none. */
export function ImportPools() {
  const { api, store, refresh } = useSession();
  const [text, setText] = useState("");
  const writing = useWriting();
  const found = readLegacy(text);
  const has = (store.pools.value ?? []).length;
  const kept = keptText(() => localStorage);
  const bring = (): void => {
    if (found.kind !== "pools") return;
    writing.run(
      () => api.pools.importAll(found.documents, importer),
      () => {
        if (text === kept) localStorage.removeItem(legacyPlace);
        void refresh().then(() => go("pools"));
      },
    );
  };
  const show = (to: string): void => {
    writing.forget();
    setText(to);
  };
  return (
    <section class="card settings-panel import-panel">
      <div>
        <h2>Pools from an older system</h2>
        <p class="soft">
          Paste the list of pools that it kept, or open the file. All are brought, or none when one of them is not right, and only while there are no pools here.
        </p>
      </div>
      {has > 0 && (
        <Notice title={`There ${has === 1 ? "is" : "are"} ${count(has, "pool")} already`}>
          <p>The engine takes such a list only while it has none: delete what is here first, or create the others by hand.</p>
        </Notice>
      )}
      <Kept text={kept} shown={text === kept} onShow={show} />
      <Field label="The list, as JSON" problem={found.kind === "unreadable" ? found.problem : ""}>
        {(control) => <textarea {...control} class="input import-text" rows={6} spellcheck={false} value={text} onInput={(e) => show(e.currentTarget.value)} />}
      </Field>
      {writing.error && <ErrorNotice title="Nothing was brought" error={writing.error} />}
      <div class="settings-actions">
        <Button kind="primary" disabled={found.kind !== "pools"} busy={writing.busy} onClick={bring}>
          {found.kind === "pools" ? `Bring ${count(found.documents.length, "pool")}` : "Bring the pools"}
        </Button>
        <label class="button plain file-button">
          Open a file
          <input
            type="file"
            accept=".json,application/json"
            onChange={(e) => {
              void e.currentTarget.files?.[0]?.text().then(show);
              e.currentTarget.value = ""; // the same file can be chosen again
            }}
          />
        </label>
      </div>
    </section>
  );
}

/** What an older dashboard left in this browser and was not brought when the page opened, because there were pools. */
function Kept({ text, shown, onShow }: { text: string | null; shown: boolean; onShow: (text: string) => void }) {
  const kept = readLegacy(text);
  if (text === null || kept.kind !== "pools" || shown) return null;
  return (
    <Notice title={`This browser keeps ${count(kept.documents.length, "pool")} of an older dashboard`} actions={<Button onClick={() => onShow(text)}>Put them into the field</Button>} />
  );
}
