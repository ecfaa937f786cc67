import type { ApiError } from "../api/error";
import type { Signature } from "../state/signature";
import { Field } from "./field";
import "./signed.css";

interface Props {
  of: Signature;
  /** What the engine said of the change; what it said of name and reason stands beside them. */
  error: ApiError | null;
}

/** Who changes something, and why. Neither is needed. */
export function Signed({ of, error }: Props) {
  return (
    <div class="signed">
      {of.token === undefined && (
        <Field label="Your name" problem={error?.problemOf("X-Quota-Actor") ?? ""}>
          {(control) => <input {...control} class="input" value={of.name} onInput={(e) => of.onName(e.currentTarget.value)} autocomplete="nickname" />}
        </Field>
      )}
      <Field label="Why" hint={of.token === undefined ? "Both are kept in the log with the change." : `Kept in the log with the change, and that it was ${of.token}.`} problem={error?.problemOf("X-Quota-Reason") ?? ""}>
        {(control) => <input {...control} class="input" value={of.reason} onInput={(e) => of.onReason(e.currentTarget.value)} autocomplete="off" />}
      </Field>
    </div>
  );
}
