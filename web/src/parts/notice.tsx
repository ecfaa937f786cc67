import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/error";
import type { Tone } from "../words/verdict";

interface Props {
  tone?: Tone;
  title: string;
  /** Buttons for what can be done about it. */
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

/** Something that has to be said. What is bad is read out at once, all else when there is time. */
export function Notice({ tone = "quiet", title, actions, children }: Props) {
  return (
    <div class={`notice ${tone}`} role={tone === "bad" ? "alert" : "status"}>
      <div class="notice-text">
        <p class="notice-title">{title}</p>
        {children}
      </div>
      {actions && <div class="notice-actions">{actions}</div>}
    </div>
  );
}

/** What the engine answered when it refused something: its own words, and each field. */
export function ErrorNotice({ title, error, actions }: { title: string; error: ApiError; actions?: ComponentChildren }) {
  return (
    <Notice tone="bad" title={title} actions={actions}>
      {error.faults.length > 1 ? (
        <ul>
          {error.faults.map((fault) => (
            <li key={fault.field + fault.problem}>
              {fault.field && <code>{fault.field}</code>} {fault.problem}
            </li>
          ))}
        </ul>
      ) : (
        <p>{error.message}</p>
      )}
    </Notice>
  );
}
