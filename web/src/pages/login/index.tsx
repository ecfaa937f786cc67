import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, unreachable } from "../../api/error";
import { Button } from "../../parts/button";
import { type ControlProps, Field } from "../../parts/field";
import { Mark } from "../../parts/mark";
import { useSession } from "../../state/session";
import "./login.css";

const title = "Log in";

/** Takes a token. The address stays, so the page that was asked for opens then. */
export function LoginPage() {
  const { who } = useSession();
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = `${title} · Quotashare`;
    input.current?.focus();
  }, []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const token = input.current?.value.trim() ?? "";
    if (token === "") return void input.current?.focus();
    setBusy(true);
    setError(null);
    try {
      await who.login(token); // and the page begins anew
    } catch (fault) {
      setError(fault instanceof ApiError ? fault : unreachable());
      setBusy(false);
      input.current?.select();
    }
  };
  return (
    <main class="login" id="content">
      <div class="login-card">
        <div class="login-head">
          <p class="brand">
            <Mark />
            Quotashare
          </p>
          <h1>{title}</h1>
          <p class="soft">
            {who.ended.value ? "Your session has ended: its token was removed, was changed, or has expired." : "This engine asks for a token."} Whoever
            runs it makes one with <code>quotashare tokens add</code>.
          </p>
        </div>
        <form class="login-form" onSubmit={(event) => void submit(event)}>
          {/* So that a password manager keeps the token under a name. */}
          <input type="text" name="username" autocomplete="username" value="quotashare" hidden readOnly />
          <Field label="Token" problem={error?.message ?? ""}>
            {(control) => <Secret control={control} input={input} />}
          </Field>
          <Button kind="primary" type="submit" busy={busy}>
            {title}
          </Button>
        </form>
      </div>
    </main>
  );
}

interface SecretProps {
  control: ControlProps;
  input: RefObject<HTMLInputElement | null>;
}

/** Not told to who looks over a shoulder, unless it is asked for. */
function Secret({ control, input }: SecretProps) {
  const [shown, setShown] = useState(false);
  return (
    <span class="login-token">
      <input
        {...control}
        ref={input}
        class="input"
        type={(shown ? "text" : "password") as "password"} // types know of no input that changes
        name="token"
        autocomplete="current-password"
        autocapitalize="none"
        spellcheck={false}
        required
      />
      <button class="button plain" type="button" aria-pressed={shown} onClick={() => setShown(!shown)}>
        {shown ? "Hide" : "Show"}
      </button>
    </span>
  );
}
