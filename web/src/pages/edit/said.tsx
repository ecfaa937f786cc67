import { ErrorNotice, Notice } from "../../parts/notice";
import { Effects } from "../../parts/effects";
import { elsewhere, type PoolTrial } from "./form";

/** What the engine says of the pool as it stands in the form: what is wrong, or whom it would block. */
export function TrialSaid({ trial, idle, isNew }: { trial: PoolTrial; idle: boolean; isNew: boolean }) {
  const { error, value } = trial;
  if (idle) return <p class="soft">{isNew ? "Who would be blocked is said here as you go." : "Nothing is changed yet."}</p>;
  if (error && error.faults.length === 0) return <ErrorNotice title="This cannot be tried" error={error} />;
  if (error) {
    const other = elsewhere(error);
    return (
      <div aria-live="polite">
        <p class="soft">Not everything is right yet: see what is said beside the fields.</p>
        {other.map(({ field, problem }) => (
          <p key={field + problem} class="bad-text">
            <code>{field}</code> {problem}
          </p>
        ))}
      </div>
    );
  }
  if (!value) return <p class="soft">It is being tried…</p>;
  return (
    <div class={trial.busy ? "trying" : ""} aria-live="polite">
      <Effects trial={value} />
      {value.pool.warnings.length > 0 && (
        <Notice tone="warn" title="Allowed, and perhaps not meant">
          <ul class="warnings">
            {value.pool.warnings.map(({ field, problem }) => (
              <li key={field + problem}>
                <code>{field}</code> {problem}
              </li>
            ))}
          </ul>
        </Notice>
      )}
    </div>
  );
}
