import type { Plan } from "../../api/types";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Effects } from "../../parts/effects";
import { ErrorNotice } from "../../parts/notice";
import { Signed } from "../../parts/signed";
import { usePoolName } from "../../state/poolname";
import { useSession } from "../../state/session";
import { useSignature } from "../../state/signature";
import { useAnswer, useWriting } from "../../state/trial";

/** Asks before a plan that was set by hand is taken back, and says what that would do. */
export function RevertDialog({ plan, onClose, onReverted }: { plan: Plan; onClose: () => void; onReverted: () => void }) {
  const { api } = useSession();
  const trial = useAnswer(plan.connectionId, () => api.plans.tryRevert(plan.connectionId));
  const poolName = usePoolName();
  const signature = useSignature();
  const writing = useWriting();
  const revert = (): void =>
    writing.run(
      () => api.plans.revert(plan.connectionId, { ...signature.write, revision: plan.revision }),
      () => {
        onClose();
        onReverted();
      },
    );
  return (
    <Dialog
      title={`Take back the plan of ${plan.connectionId}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button kind="danger" busy={writing.busy} onClick={revert}>
            {writing.error ? "Try again" : "Revert the plan"}
          </Button>
        </>
      }
    >
      <p>The connection then has what its provider is known to sell, or no limit where that is not known.</p>
      {trial.value && <Effects trial={trial.value} poolName={poolName} />}
      {trial.error && <ErrorNotice title="What it would do could not be found out" error={trial.error} />}
      <Signed of={signature} error={writing.error} />
      {writing.error && <ErrorNotice title="Not reverted" error={writing.error} />}
    </Dialog>
  );
}
