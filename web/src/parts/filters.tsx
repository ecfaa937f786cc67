import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import "./filters.css";

/** What a list is narrowed to, in a row above it. */
export function FilterBar({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="filters" role="search" aria-label={label}>
      {children}
    </div>
  );
}

interface SelectProps {
  label: string;
  value: string;
  /** Without a first one for "all": name what it means. */
  options: readonly { value: string; text: string }[];
  onChange: (value: string) => void;
}

/** One of several, "" for all of them. */
export function FilterSelect({ label, value, options, onChange }: SelectProps) {
  const id = useId();
  return (
    <div class="filter">
      <label class="field-label" for={id}>
        {label}
      </label>
      <select class="input" id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.text}
          </option>
        ))}
      </select>
    </div>
  );
}

interface TextProps {
  label: string;
  value: string;
  placeholder?: string;
  /** What others have entered here, or the engine has seen. */
  known?: readonly string[];
  /** Called when somebody is done with the field, not at every letter. */
  onChange: (value: string) => void;
}

/** How many known names are offered: a browser is slow with more. */
const offered = 1000;

/** A name, typed or chosen from those that are known. */
export function FilterText({ label, value, placeholder, known = [], onChange }: TextProps) {
  const id = useId();
  // What is being typed is not taken away when the page is drawn anew meanwhile.
  const [typed, setTyped] = useState<string | null>(null);
  const done = (text: string): void => {
    setTyped(null);
    if (text !== value) onChange(text);
  };
  return (
    <div class="filter">
      <label class="field-label" for={id}>
        {label}
      </label>
      <input
        class="input"
        id={id}
        value={typed ?? value}
        placeholder={placeholder}
        list={known.length > 0 ? `${id}-known` : undefined}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setTyped(event.currentTarget.value === value ? null : event.currentTarget.value)}
        onChange={(event) => done(event.currentTarget.value.trim())}
      />
      {known.length > 0 && (
        <datalist id={`${id}-known`}>
          {known.slice(0, offered).map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
    </div>
  );
}
