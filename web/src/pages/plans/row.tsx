import type { DimensionDraft } from "../../model/plandraft";
import { typed } from "../../model/share";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { dimensionText } from "../../words/plan";
import { windowName } from "../../words/terms";
import { unitTitle, units, windows } from "../../words/units";

interface RowProps {
  of: DimensionDraft;
  problem: (name: string) => string;
  onChange: (to: Partial<DimensionDraft>) => void;
  onRemove: () => void;
}

/** What was typed, as it is read. */
function hintOf(d: DimensionDraft): string {
  if (d.limit.trim() === "") return "Empty: counted, not limited.";
  const limit = typed(d.limit);
  return limit === null ? "" : dimensionText({ ...d, limit });
}

/** One limit of a plan. */
export function DimensionRow({ of: d, problem, onChange, onRemove }: RowProps) {
  return (
    <li class="plan-row">
      <Field label="At most" hint={hintOf(d)} problem={problem("limit")}>
        {(control) => (
          <input {...control} class="input plan-limit" inputMode="decimal" placeholder="not known" value={d.limit} onInput={(e) => onChange({ limit: e.currentTarget.value })} autocomplete="off" />
        )}
      </Field>
      <Field label="Of" hint={d.unit === "percent" ? "80 of them keep 20 back." : ""} problem={problem("unit")}>
        {(control) => (
          <select {...control} class="input" value={d.unit} onChange={(e) => onChange({ unit: e.currentTarget.value as DimensionDraft["unit"] })}>
            {units.map((unit) => (
              <option key={unit} value={unit}>
                {unitTitle(unit)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Per" problem={problem("window")}>
        {(control) => (
          <select {...control} class="input" value={d.window} onChange={(e) => onChange({ window: e.currentTarget.value as DimensionDraft["window"] })}>
            {windows.map((window) => (
              <option key={window} value={window}>
                {windowName(window)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Button kind="quiet" label={`Remove the limit on ${unitTitle(d.unit)} per ${windowName(d.window)}`} onClick={onRemove}>
        <Icon name="close" />
      </Button>
    </li>
  );
}
