import { useState } from "preact/hooks";
import { ApiError, unreachable } from "../api/error";
import { Button } from "../parts/button";
import { useSession } from "../state/session";
import { roleMeaning } from "../words/role";

/** Whose token the page has, what that lets one do, and the way out. There is nothing where no token is asked for. */
export function Account() {
  const { who } = useSession();
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const identity = who.identity.value;
  if (identity?.name === undefined || identity.role === undefined) return null;
  const leave = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await who.logout(); // and the page begins anew
    } catch (fault) {
      setError(fault instanceof ApiError ? fault : unreachable());
      setBusy(false);
    }
  };
  return (
    <div class="account">
      <p class="account-name" title={identity.name}>
        {identity.name}
      </p>
      <p class="account-role">{roleMeaning(identity.role)}</p>
      <Button busy={busy} onClick={() => void leave()}>
        Log out
      </Button>
      <p class="field-problem" role="status">
        {error?.message}
      </p>
    </div>
  );
}
