import { useId } from "preact/hooks";
import type { CatalogueEntry, Mode, OnDegraded, Rule } from "../../api/types";
import { Choice, Field } from "../../parts/field";
import { ruleSentences } from "../../words/rule";
import { degradedMeaning, modeMeaning, modeName } from "../../words/terms";
import type { FormProps } from "./form";

interface Props extends FormProps {
  isNew: boolean;
  catalogue: readonly CatalogueEntry[];
}

const modes: readonly Mode[] = ["enforce", "observe", "off"];
const degraded: readonly OnDegraded[] = ["open", "closed"];
const rules: readonly { value: Rule; text: string }[] = [
  { value: "threshold", text: "By threshold" },
  { value: "guarantee", text: "By guarantee" },
];

/** What the pool is called, whose accounts it has, and whether it binds. */
export function Basics({ draft, change, problem, isNew, catalogue }: Props) {
  const names = useId();
  return (
    <section class="card panel" aria-labelledby={`${names}-title`}>
      <h2 id={`${names}-title`}>The pool</h2>
      <div class="fields">
        <Field label="Name" hint="As people say it." problem={problem("name")}>
          {(control) => <input {...control} class="input" value={draft.name} onInput={(e) => change({ name: e.currentTarget.value })} autocomplete="off" />}
        </Field>
        <Field label="Provider" hint="Whose accounts these are: it says what they may use, unless a plan does." problem={problem("provider")}>
          {(control) => <input {...control} class="input" list={names} value={draft.provider} onInput={(e) => change({ provider: e.currentTarget.value })} autocomplete="off" />}
        </Field>
        <datalist id={names}>
          {catalogue.map((entry) => (
            <option key={entry.provider} value={entry.provider} />
          ))}
        </datalist>
        {isNew && (
          <Field label="Id" hint="For programs. Left empty, one is made." problem={problem("id")}>
            {(control) => <input {...control} class="input" value={draft.id} onInput={(e) => change({ id: e.currentTarget.value })} autocomplete="off" />}
          </Field>
        )}
      </div>
      <div class="choices">
        <div class="field">
          <span class="field-label">Mode</span>
          <Choice label="Mode" value={draft.mode} onChange={(mode) => change({ mode })} options={modes.map((value) => ({ value, text: modeName(value) }))} />
          <p class="field-hint">{modeName(draft.mode)}: {modeMeaning(draft.mode)}.</p>
        </div>
        <div class="field">
          <span class="field-label">When the engine is behind</span>
          <Choice
            label="When the engine is behind"
            value={draft.onDegraded}
            onChange={(onDegraded) => change({ onDegraded })}
            options={degraded.map((value) => ({ value, text: value === "open" ? "Let pass" : "Block" }))}
          />
          <p class="field-hint">The pool {degradedMeaning(draft.onDegraded)}.</p>
        </div>
        <Sharing draft={draft} change={change} problem={problem} />
      </div>
    </section>
  );
}

/** The rule by which the pool shares. */
function Sharing({ draft, change, problem }: FormProps) {
  const guarantee = draft.rule === "guarantee";
  return (
    <>
      <div class="field">
        <span class="field-label">How it shares</span>
        <Choice label="How it shares" value={draft.rule} onChange={(rule) => change({ rule })} options={rules} />
        <p class="field-hint">{ruleSentences(draft.rule)}</p>
      </div>
      {(guarantee || draft.reserve !== "") && (
        <Field label="Reserve" hint="How much of its pace is kept for each key, in percent: 0 to 400. With less a key alone can use more at once; with more, who comes late finds more. Only for the guarantee." problem={problem("reserve")}>
          {(control) => <input {...control} class="input number-input" inputMode="numeric" placeholder="100" value={draft.reserve} onInput={(e) => change({ reserve: e.currentTarget.value })} autocomplete="off" />}
        </Field>
      )}
    </>
  );
}
