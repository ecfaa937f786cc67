import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

/** What the control of a field must have, so that label, hint and problem belong to it. */
export interface ControlProps {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean;
}

interface Props {
  label: string;
  hint?: string;
  /** What is wrong with what was entered, in the API's words; "" while nothing is. */
  problem?: string;
  children: (control: ControlProps) => ComponentChildren;
}

/** A control with its label, what it means, and what is wrong with it. */
export function Field({ label, hint = "", problem = "", children }: Props) {
  const id = useId();
  const told = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label class="field-label" for={id}>
        {label}
      </label>
      {children({ id, "aria-describedby": told || undefined, "aria-invalid": problem !== "" })}
      {hint && (
        <p class="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {/* Always there, so that what appears in it is read out. */}
      <p class="field-problem" id={`${id}-problem`} role="status">
        {problem}
      </p>
    </div>
  );
}

interface ChoiceProps<Value extends string> {
  /** What is chosen, for who does not see what stands beside. */
  label: string;
  value: Value;
  options: readonly { value: Value; text: ComponentChildren; title?: string }[];
  onChange: (value: Value) => void;
}

/** A few options side by side, of which one holds. */
export function Choice<Value extends string>({ label, value, options, onChange }: ChoiceProps<Value>) {
  const name = useId();
  return (
    <div class="choice" role="radiogroup" aria-label={label}>
      {options.map((option) => (
        <label key={option.value} title={option.title}>
          <input type="radio" name={name} value={option.value} checked={option.value === value} onChange={() => onChange(option.value)} />
          {option.text}
        </label>
      ))}
    </div>
  );
}
