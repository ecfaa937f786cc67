import { useId } from "preact/hooks";
import { instantOf, localInput } from "../model/timeline";
import { zoneName } from "../words/time";

interface Props {
  label: string;
  /** null while nobody named one. */
  at: number | null;
  /** The time for which the zone is named while there is none. */
  now: number;
  onChange: (at: number | null) => void;
}

/** An instant to the second, in the zone of the reader. */
export function FilterMoment({ label, at, now, onChange }: Props) {
  const id = useId();
  return (
    <div class="filter">
      <label class="field-label" for={id}>
        {`${label}, ${zoneName(at ?? now)}`}
      </label>
      <input class="input" id={id} type="datetime-local" step={1} value={at === null ? "" : localInput(at)} onChange={(event) => onChange(instantOf(event.currentTarget.value))} />
    </div>
  );
}
