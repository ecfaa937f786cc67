import { useState } from "preact/hooks";
import type { Setting, SettingName, Settings } from "../../api/types";
import { settingsDocument, type SettingsDraft } from "../../model/settingsdraft";
import { Button } from "../../parts/button";
import { Effects } from "../../parts/effects";
import { Field } from "../../parts/field";
import { When } from "../../parts/figures";
import { ErrorNotice } from "../../parts/notice";
import { Tag } from "../../parts/tag";
import { useSession } from "../../state/session";
import { useTrial, useWriting } from "../../state/trial";
import { settingNames, settingSource, settingValue, settingWords } from "../../words/setting";

/** Every setting with its value, where that comes from, and a place for another. */
export function SettingsForm({ settings, onChanged }: { settings: Settings; onChanged: () => void }) {
  const { api } = useSession();
  const [draft, setDraft] = useState<SettingsDraft>({});
  const [reason, setReason] = useState("");
  const writing = useWriting();
  const document = settingsDocument(settings, draft);
  const changed = Object.keys(document).length > 0;
  const trial = useTrial(changed ? JSON.stringify(document) : null, () => api.settings.tryPut(document));
  const save = (): void => writing.run(() => api.settings.put(document, { revision: settings.revision, reason }), onChanged);
  const lost = writing.error?.code === "lost-race";
  return (
    <section class="card settings-panel">
      <ul>
        {settingNames.map((name) => (
          <SettingRow
            key={name}
            name={name}
            of={settings[name]}
            typed={draft[name]}
            problem={trial.error?.problemOf(name) ?? ""}
            onChange={(to) => setDraft((before) => ({ ...before, [name]: to }))}
          />
        ))}
      </ul>
      <div class="settings-foot">
        <div aria-live="polite">
          {!changed && <p class="soft">Nothing is changed yet.</p>}
          {trial.value && <Effects trial={trial.value} poolName={(id) => id} />}
          {trial.error && trial.error.faults.length === 0 && <ErrorNotice title="This cannot be tried" error={trial.error} />}
          {trial.error && trial.error.faults.length > 0 && <p class="soft">Not everything is right yet: see what is said beside the values.</p>}
        </div>
        {writing.error && (
          <ErrorNotice
            title={lost ? "Somebody else changed the settings meanwhile" : "Not saved"}
            error={writing.error}
            actions={lost && <Button onClick={onChanged}>Take theirs, drop mine</Button>}
          />
        )}
        <Field label="Why" hint="Kept in the log with the change.">
          {(control) => <input {...control} class="input" value={reason} onInput={(e) => setReason(e.currentTarget.value)} autocomplete="off" />}
        </Field>
        <div class="settings-actions">
          <Button kind="primary" disabled={!changed} busy={writing.busy} onClick={save}>
            Save the settings
          </Button>
          {settings.updatedAt && (
            <p class="soft">
              Changed <When at={settings.updatedAt} />
              {settings.actor ? ` by ${settings.actor}` : ""}
              {settings.reason ? `: ${settings.reason}` : ""}
            </p>
          )}
        </div>
      </div>
    </section>
  );
}

interface RowProps {
  name: SettingName;
  of: Setting;
  /** What was typed; null to take the value away, undefined for nothing yet. */
  typed: string | null | undefined;
  problem: string;
  onChange: (to: string | null | undefined) => void;
}

function SettingRow({ name, of, typed, problem, onChange }: RowProps) {
  const words = settingWords(name);
  return (
    <li class="setting">
      <div class="setting-text">
        <h2>{words.title}</h2>
        <p class="soft">{words.meaning}</p>
        <p class="faint">
          <code>{name}</code>
        </p>
      </div>
      <div class="setting-now">
        <p class="setting-value">{settingValue(name, of.value)}</p>
        <p>
          <Tag tone={of.source === "default" ? "quiet" : "good"}>{settingSource(of)}</Tag>
        </p>
        {of.source !== "default" && <p class="faint">the default is {settingValue(name, of.default)}</p>}
      </div>
      <div class="setting-edit">
        {typed === null ? (
          <p class="warn-text">What is set is taken away: the default holds.</p>
        ) : (
          <Field label={`New value, in ${unitName[words.unit]}`} problem={problem}>
            {(control) => (
              <input {...control} class="input" inputMode="decimal" placeholder={String(of.value)} value={typed ?? ""} onInput={(e) => onChange(e.currentTarget.value)} autocomplete="off" aria-label={`New value of ${name}, in ${unitName[words.unit]}`} />
            )}
          </Field>
        )}
        {typed === null ? (
          <Button kind="quiet" onClick={() => onChange(undefined)}>
            Keep what is set
          </Button>
        ) : (
          of.source !== "default" && (
            <Button kind="quiet" onClick={() => onChange(null)}>
              Take away what is set
            </Button>
          )
        )}
      </div>
    </li>
  );
}

const unitName = { part: "parts of 1", days: "days", milliseconds: "milliseconds" } as const;
