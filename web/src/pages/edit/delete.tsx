import type { Pool } from "../../api/types";
import { go } from "../../app/route";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Effects } from "../../parts/effects";
import { ErrorNotice } from "../../parts/notice";
import { Signed } from "../../parts/signed";
import { useSession } from "../../state/session";
import { useSignature } from "../../state/signature";
import { useAnswer, useWriting } from "../../state/trial";

/** Asks before a pool is deleted, and says what that would do. What fails is said, and can be tried again. */
export function DeleteDialog({ pool, onClose }: { pool: Pool; onClose: () => void }) {
  const { api, store, refresh } = useSession();
  const trial = useAnswer(pool.id, () => api.pools.tryRemove(pool.id));
  const signature = useSignature();
  const writing = useWriting();
  const lost = writing.error?.code === "lost-race";
  // Who was told that somebody changed it, and goes on, means the pool as it is now.
  const revision = (lost ? store.pools.value?.find(({ id }) => id === pool.id)?.revision : undefined) ?? pool.revision;
  const remove = (): void =>
    writing.run(
      () => api.pools.remove(pool.id, { ...signature.write, revision }),
      () => void refresh().then(() => go("pools")),
    );
  return (
    <Dialog
      title={`Delete ${pool.name}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button kind="danger" busy={writing.busy} onClick={remove}>
            {lost ? "Delete it all the same" : writing.error ? "Try again" : "Delete the pool"}
          </Button>
        </>
      }
    >
      <p>Its keys are no longer held to shares. What they used stays counted on its connections.</p>
      {trial.value && <Effects trial={trial.value} />}
      {trial.error && <ErrorNotice title="What it would do could not be found out" error={trial.error} />}
      <Signed of={signature} error={writing.error} />
      {writing.error && <ErrorNotice title="Not deleted" error={writing.error} />}
    </Dialog>
  );
}
