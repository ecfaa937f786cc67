import { type Base, type Tried, type TriedSetting, triedSettings } from "../../model/trial";
import { Field } from "../../parts/field";
import { settingMeaning, settingValue, settingWords } from "../../words/setting";
import { typedSetting } from "../../model/settingsdraft";
import { typed as numberOf } from "../../model/share";

interface Props {
  base: Base;
  tried: Tried;
  problem: (name: TriedSetting) => string;
  onChange: (tried: Tried) => void;
}

/** The settings of the engine that change answers, folded away: they are those of all pools. */
export function TriedSettings({ base, tried, problem, onChange }: Props) {
  const { settings } = base;
  if (!settings) return null;
  return (
    <details class="trial-more" open={triedSettings.some((name) => problem(name) !== "") || undefined}>
      <summary>Other settings of the engine, for all pools</summary>
      <div class="trial-settings">
        {triedSettings.map((name) => {
          const text = tried.settings[name] ?? "";
          const { title, meaning } = settingWords(name);
          return (
            <Field key={name} label={title} hint={`${meaning} It is ${settingValue(name, settings[name].value)} now.${reads(name, text)}`} problem={problem(name)}>
              {(control) => (
                <input {...control} class="input" inputMode="decimal" placeholder="as it is" value={text} onInput={(event) => onChange({ ...tried, settings: { ...tried.settings, [name]: event.currentTarget.value } })} autocomplete="off" />
              )}
            </Field>
          );
        })}
      </div>
    </details>
  );
}

/** What was typed, as the engine will read it. */
function reads(name: TriedSetting, text: string): string {
  const value = text.trim() === "" ? "" : typedSetting(name, text);
  const meaning = value !== "" && numberOf(value) !== null ? settingMeaning(name, value) : "";
  return meaning && ` Tried: ${meaning}.`;
}
