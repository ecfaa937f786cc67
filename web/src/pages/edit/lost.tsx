import type { ApiError } from "../../api/error";
import type { Pool } from "../../api/types";
import { type Draft, differences, patchOf } from "../../model/draft";
import { Button } from "../../parts/button";
import { Notice } from "../../parts/notice";
import { useSession } from "../../state/session";

interface Props {
  base: Pool;
  draft: Draft;
  /** What the engine said when it refused to save over the other change; null before. */
  said: ApiError | null;
  onTheirs: () => void;
  /** Saves over the revision that somebody else made. */
  onMine: (revision: number) => void;
}

/** Somebody else changed the pool since it was read: what they changed, and what can be done. Shown as soon as it is known. */
export function LostRace({ base, draft, said, onTheirs, onMine }: Props) {
  const theirs = useSession().store.pools.value?.find((pool) => pool.id === base.id);
  const newer = theirs && theirs.revision > base.revision ? theirs : null;
  if (!newer && !said) return null;
  const changed = newer ? differences(base, newer) : [];
  const mine = Object.keys(patchOf(base, draft));
  const both = changed.filter((field) => mine.includes(field));
  return (
    <Notice
      tone="bad"
      title={`${newer?.actor ?? "Somebody else"} changed this pool meanwhile`}
      actions={
        <>
          <Button onClick={onTheirs}>Take theirs, drop mine</Button>
          {newer && mine.length > 0 && (
            <Button kind="danger" onClick={() => onMine(newer.revision)}>
              Save mine over it
            </Button>
          )}
        </>
      }
    >
      {said && <p>{said.message}</p>}
      {changed.length > 0 && <p>They changed: {changed.join(", ")}.{newer?.reason ? ` Why: ${newer.reason}.` : ""}</p>}
      {mine.length > 0 && <p>You changed: {mine.join(", ")}. {both.length > 0 ? `Of ${both.join(", ")} only one can hold.` : "Both can hold: saving yours keeps theirs."}</p>}
    </Notice>
  );
}
