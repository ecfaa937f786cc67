import { useState } from "preact/hooks";
import { go } from "../../app/route";
import { readLegacy } from "../../state/legacy";
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
  const bring = (): void => {
    if (found.kind !== "pools") return;
    writing.run(
      () => api.pools.importAll(found.documents, importer),
      () => void refresh().then(() => go("pools")),
    );
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
        <Notice title={`There are ${count(has, "pool")} already`}>
          <p>The engine takes such a list only while it has none: delete them first, or create the others by hand.</p>
        </Notice>
      )}
      <Field label="The list, as JSON" problem={found.kind === "unreadable" ? found.problem : ""}>
        {(control) => <textarea {...control} class="input import-text" rows={6} spellcheck={false} value={text} onInput={(e) => setText(e.currentTarget.value)} />}
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
              void e.currentTarget.files?.[0]?.text().then(setText);
              e.currentTarget.value = ""; // the same file can be chosen again
            }}
          />
        </label>
      </div>
    </section>
  );
}
