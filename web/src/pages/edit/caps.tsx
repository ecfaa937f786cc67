import type { Unit, Window } from "../../api/types";
import { type AllocationDraft, appended, type CapDraft, capField, type CapWindow, replaced, without } from "../../model/draft";
import { typed } from "../../model/share";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { useRowFocus } from "../../parts/rowfocus";
import { exactAmount } from "../../words/amount";
import { keyName } from "../../words/effect";
import { unitTitle, units, windows } from "../../words/units";
import { windowName } from "../../words/terms";

interface Props {
  of: AllocationDraft;
  place: number;
  problem: (field: string) => string;
  onChange: (caps: readonly CapDraft[]) => void;
}

/** The caps of one key: bounds that hold however empty the pool is. */
export function Caps({ of, place, problem, onChange }: Props) {
  const { caps } = of;
  const rows = useRowFocus<HTMLDivElement>(caps.length);
  const hasEvery = caps.some((cap) => cap.window === "every");
  const set = (row: number, to: Partial<CapDraft>): void => onChange(replaced(caps, row, to));
  const problemOf = (cap: CapDraft): string => {
    const field = capField(of, place, cap.row);
    return cap.window === "every" ? problem(field) : ["value", "unit", "window"].map((name) => problem(`${field}.${name}`)).find(Boolean) ?? "";
  };
  if (caps.length === 0) return null;
  return (
    <div class="caps" ref={rows}>
      {caps.map((cap) => (
        <div key={cap.row} class="row cap-row">
          <Field label="Never more than" hint={capHint(cap.value, cap.unit)} problem={problemOf(cap)}>
            {(control) => <input {...control} class="input number-input" inputMode="decimal" value={cap.value} onInput={(e) => set(cap.row, { value: e.currentTarget.value })} autocomplete="off" />}
          </Field>
          <UnitChoice value={cap.unit} onChange={(unit) => set(cap.row, { unit })} />
          <WindowChoice value={cap.window} every={cap.window === "every" || !hasEvery} onChange={(window) => set(cap.row, { window })} />
          <Button kind="quiet" label={`Remove this cap of ${keyName(of.apiKeyId)}`} onClick={() => onChange(without(caps, cap.row))}>
            <Icon name="close" />
          </Button>
        </div>
      ))}
    </div>
  );
}

/** What was typed as a cap, as it is read. */
export function capHint(text: string, unit: Unit): string {
  const value = typed(text);
  return value === null ? "" : exactAmount(value, unit);
}

/** What a cap begins as. */
export function withCap(caps: readonly CapDraft[]): readonly CapDraft[] {
  return appended<CapDraft>(caps, { unit: "requests", window: "hourly", value: "" });
}

export function UnitChoice({ value, onChange }: { value: Unit; onChange: (unit: Unit) => void }) {
  return (
    <Field label="Of">
      {(control) => (
        <select {...control} class="input" value={value} onChange={(e) => onChange(e.currentTarget.value as Unit)}>
          {units.map((unit) => (
            <option key={unit} value={unit}>
              {unitTitle(unit)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** every: whether "in every window of the plan" is offered; a key may have one such cap. */
function WindowChoice({ value, every, onChange }: { value: CapWindow; every: boolean; onChange: (window: CapWindow) => void }) {
  return (
    <Field label="Per">
      {(control) => (
        <select {...control} class="input" value={value} onChange={(e) => onChange(e.currentTarget.value as Window | "every")}>
          {windows.map((window) => (
            <option key={window} value={window}>
              {windowName(window)}
            </option>
          ))}
          {every && <option value="every">each window of the plan</option>}
        </select>
      )}
    </Field>
  );
}
