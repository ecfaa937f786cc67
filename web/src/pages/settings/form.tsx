import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useUnsaved } from "../../app/leave";
import type { Setting, SettingName, Settings, Trial } from "../../api/types";
import { changedSettings, settingsDocument, type SettingsDraft, typedSetting } from "../../model/settingsdraft";
import { typed as numberOf } from "../../model/share";
import { Button } from "../../parts/button";
import { Effects } from "../../parts/effects";
import { Field } from "../../parts/field";
import { When } from "../../parts/figures";
import { Meanwhile } from "../../parts/meanwhile";
import { ErrorNotice } from "../../parts/notice";
import { Signed } from "../../parts/signed";
import { Tag } from "../../parts/tag";
import { useFollowed } from "../../state/followed";
import { usePoolName } from "../../state/poolname";
import { useSession } from "../../state/session";
import { useSignature } from "../../state/signature";
import { type Answered, useTrial, useWriting } from "../../state/trial";
import { listed } from "../../words/poolfield";
import { settingMeaning, settingNames, settingSource, settingValue, settingWords, type SettingUnit } from "../../words/setting";

const sameSettings = (a: Settings, b: Settings): boolean => a.revision === b.revision;

/** "how long a request is held and when shares begin to count". */
const titles = (names: readonly string[]): string =>
  listed(names.map((name) => settingWords(name as SettingName).title.replace(/^./, (first) => first.toLowerCase())));

/** Every setting with its value, where that comes from, and a place for another. */
export function SettingsForm({ settings, onChanged }: { settings: Settings; onChanged: () => void }) {
  const { api, store } = useSession();
  const [draft, setDraft] = useState<SettingsDraft>({});
  const signature = useSignature();
  const writing = useWriting();
  const idle = (of: Settings): boolean => Object.keys(settingsDocument(of, draft)).length === 0;
  const { base, newer, goOn, wrote } = useFollowed(settings, idle, sameSettings, () => setDraft({}));
  useUnsaved(!idle(base));
  const document = settingsDocument(settings, draft);
  const mine = Object.keys(document);
  const trial = useTrial(mine.length > 0 ? `${settings.revision} ${store.minute.value} ${JSON.stringify(document)}` : null, () => api.settings.tryPut(document));
  const save = (): void =>
    writing.run(
      () => api.settings.put(document, { ...signature.write, revision: base.revision }),
      () => {
        wrote();
        signature.onReason("");
        onChanged();
      },
    );
  const from = (to: SettingsDraft): void => {
    writing.forget();
    goOn(settings);
    setDraft(to);
  };
  const lost = writing.error?.code === "lost-race";
  useEffect(() => {
    if (lost) onChanged(); // the engine knows it before the stream told us
  }, [writing.error]);
  const theirs = newer ? changedSettings(base, newer) : [];
  return (
    <section class="card settings-panel">
      <ul>
        {settingNames.map((name) => (
          <SettingRow key={name} name={name} of={settings[name]}>
            <SettingEdit name={name} of={settings[name]} typed={draft[name]} problem={trial.error?.problemOf(name) ?? ""} onChange={(to) => setDraft({ ...draft, [name]: to })} />
          </SettingRow>
        ))}
      </ul>
      <div class="settings-foot">
        <Said trial={trial} changed={mine.length > 0} />
        {newer && !writing.busy && (
          <Meanwhile
            by={newer.actor}
            what="the settings"
            why={newer.reason}
            said={lost ? writing.error : null}
            theirs={titles(theirs)}
            mine={titles(mine)}
            both={titles(theirs.filter((name) => mine.includes(name)))}
            onBoth={() => from(draft)}
            onTheirs={() => from({})}
          />
        )}
        {writing.error && !(lost && newer) && <ErrorNotice title={lost ? "Somebody else changed the settings meanwhile" : "Not saved"} error={writing.error} />}
        <Signed of={signature} error={writing.error} />
        <div class="settings-actions">
          <Button kind="primary" disabled={mine.length === 0} busy={writing.busy} onClick={save}>
            Save the settings
          </Button>
          <Stamp of={settings} />
        </div>
      </div>
    </section>
  );
}

/** The settings for who may look alone. */
export function SettingsText({ settings }: { settings: Settings }) {
  return (
    <section class="card settings-panel">
      <ul>
        {settingNames.map((name) => (
          <SettingRow key={name} name={name} of={settings[name]} />
        ))}
      </ul>
      <div class="settings-foot">
        <Stamp of={settings} />
      </div>
    </section>
  );
}

/** Who changed the settings last. */
function Stamp({ of: { updatedAt, actor, reason } }: { of: Settings }) {
  if (!updatedAt) return <p class="soft">Nobody changed them yet.</p>;
  return (
    <p class="soft">
      Changed <When at={updatedAt} />
      {actor ? ` by ${actor}` : ""}
      {reason ? `: ${reason}` : ""}
    </p>
  );
}

type SettingsTrial = Answered<Trial & { settings: Settings }>;

/** What saving would do. */
function Said({ trial, changed }: { trial: SettingsTrial; changed: boolean }) {
  const poolName = usePoolName();
  return (
    <div aria-live="polite">
      {!changed && <p class="soft">Nothing is changed yet.</p>}
      {trial.value && <Effects trial={trial.value} poolName={poolName} />}
      {trial.error && trial.error.faults.length === 0 && <ErrorNotice title="This cannot be tried" error={trial.error} />}
      {trial.error && trial.error.faults.length > 0 && <p class="soft">Not everything is right yet: see what is said beside the values.</p>}
    </div>
  );
}

/** A setting with its value, and where that comes from. */
function SettingRow({ name, of, children }: { name: SettingName; of: Setting; children?: ComponentChildren }) {
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
      {children}
    </li>
  );
}

interface EditProps {
  name: SettingName;
  of: Setting;
  /** What was typed; null to take the value away, undefined for nothing yet. */
  typed: string | null | undefined;
  problem: string;
  onChange: (to: string | null | undefined) => void;
}

function SettingEdit({ name, of, typed, problem, onChange }: EditProps) {
  if (typed === null) {
    return (
      <div class="setting-edit">
        <p class="warn-text">What is set is taken away: the default holds.</p>
        <Button kind="quiet" onClick={() => onChange(undefined)}>
          Keep what is set
        </Button>
      </div>
    );
  }
  const unit = unitName[settingWords(name).unit];
  return (
    <div class="setting-edit">
      <Field label={`New value, in ${unit}`} hint={hintOf(name, typed ?? "")} problem={problem}>
        {(control) => (
          <input {...control} class="input" placeholder={String(of.value)} value={typed ?? ""} onInput={(e) => onChange(e.currentTarget.value)} autocomplete="off" aria-label={`New value of ${name}, in ${unit}`} />
        )}
      </Field>
      {of.source !== "default" && (
        <Button kind="quiet" onClick={() => onChange(null)}>
          Take away what is set
        </Button>
      )}
    </div>
  );
}

const unitName: Record<SettingUnit, string> = { part: "parts of 1", days: "days", milliseconds: "milliseconds" };
const otherUnits: Record<SettingUnit, string> = { part: "Or as 80 %.", days: "", milliseconds: "Or as 30 s, 5 min, 1 h." };

/** What was typed, as it is read; how it may be typed while nothing is. */
function hintOf(name: SettingName, text: string): string {
  const value = numberOf(typedSetting(name, text));
  if (value === null) return otherUnits[settingWords(name).unit];
  const meaning = settingMeaning(name, value);
  return meaning && `${value === text.trim() ? "" : `${value}: `}${meaning}`;
}
