import { useId } from "preact/hooks";
import { appended, freshModelCap, type ModelCapDraft, replaced, without } from "../../model/draft";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { useRowFocus } from "../../parts/rowfocus";
import { capHint, UnitChoice } from "./caps";
import type { FormProps } from "./form";

/** Bounds of one key with one model, in any hour. */
export function ModelCaps({ draft, change, problem }: FormProps) {
  const id = useId();
  const list = draft.modelCaps;
  const rows = useRowFocus<HTMLUListElement>(list.length);
  const keys = draft.allocations.map((a) => a.apiKeyId).filter((key) => key !== "" && key !== "*");
  const set = (row: number, to: Partial<ModelCapDraft>): void => change({ modelCaps: replaced(list, row, to) });
  return (
    <section class="card panel" aria-labelledby={`${id}-title`}>
      <div>
        <h2 id={`${id}-title`}>Caps for single models</h2>
        <p class="soft">What one key may use of one model in an hour, whatever else is left.</p>
      </div>
      <datalist id={id}>
        {keys.map((key) => (
          <option key={key} value={key} />
        ))}
      </datalist>
      {list.length > 0 && (
        <ul class="rows" ref={rows}>
          {list.map((cap, place) => (
            <li key={cap.row} class="row model-row">
              <Field label="Key" problem={problem(`modelCaps[${place}].apiKeyId`)}>
                {(control) => <input {...control} class="input" list={id} value={cap.apiKeyId} onInput={(e) => set(cap.row, { apiKeyId: e.currentTarget.value })} autocomplete="off" />}
              </Field>
              <Field label="Model" problem={problem(`modelCaps[${place}].model`)}>
                {(control) => <input {...control} class="input" value={cap.model} onInput={(e) => set(cap.row, { model: e.currentTarget.value })} autocomplete="off" />}
              </Field>
              <Field label="Never more than" hint={capHint(cap.capValue, cap.capUnit)} problem={problem(`modelCaps[${place}].capValue`)}>
                {(control) => <input {...control} class="input number-input" inputMode="decimal" value={cap.capValue} onInput={(e) => set(cap.row, { capValue: e.currentTarget.value })} autocomplete="off" />}
              </Field>
              <UnitChoice value={cap.capUnit} onChange={(capUnit) => set(cap.row, { capUnit })} />
              <Button kind="quiet" label={`Remove this cap of ${cap.apiKeyId} for ${cap.model}`} onClick={() => change({ modelCaps: without(list, cap.row) })}>
                <Icon name="close" />
              </Button>
            </li>
          ))}
        </ul>
      )}
      <div class="panel-actions">
        <Button onClick={() => change({ modelCaps: appended<ModelCapDraft>(list, freshModelCap) })}>Add a cap for a model</Button>
      </div>
    </section>
  );
}
