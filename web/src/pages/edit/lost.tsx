import { useEffect } from "preact/hooks";
import type { ApiError } from "../../api/error";
import type { Pool } from "../../api/types";
import { href } from "../../app/route";
import { type Draft, differences, draftOf, patchOf } from "../../model/draft";
import { mergedPool } from "../../model/merge";
import { Button, ButtonLink } from "../../parts/button";
import { Notice } from "../../parts/notice";
import { useSession } from "../../state/session";
import { listed } from "../../words/poolfield";
import type { Others } from "./others";

interface Props {
  base: Pool;
  draft: Draft;
  others: Others;
  /** What the engine said when it refused to save over the other change; null before. */
  said: ApiError | null;
  /** Goes on from what somebody else made of the pool, with this in the form. */
  onFrom: (newer: Pool, draft: Draft) => void;
  /** Goes on as with a pool that is new. */
  onNew: () => void;
}

/** Somebody else changed the pool since it was read. Shown as soon as it is known, and nothing that was typed is lost. */
export function LostRace(props: Props) {
  const { others, said } = props;
  const { refresh } = useSession();
  const unknown = said !== null && !others.newer && !others.gone;
  useEffect(() => {
    if (unknown) void refresh(); // the engine knows it before the stream told us
  }, [said]);
  if (others.gone) return <Gone {...props} />;
  if (others.newer) return <Newer {...props} newer={others.newer} />;
  return said && <Notice tone="bad" title="Somebody else changed this pool meanwhile">{said.message}</Notice>;
}

function Newer({ base, draft, newer, said, onFrom }: Props & { newer: Pool }) {
  const mine = Object.keys(patchOf(base, draft));
  const { document, clashes } = mergedPool(draftOf(base), draft, draftOf(newer));
  return (
    <Notice
      tone="bad"
      title={`${newer.actor ?? "Somebody else"} changed this pool meanwhile`}
      actions={
        <>
          <Button kind="primary" onClick={() => onFrom(newer, document)}>
            Go on with both
          </Button>
          <Button onClick={() => onFrom(newer, draftOf(newer))}>Take theirs, drop mine</Button>
        </>
      }
    >
      {said && <p>{said.message}</p>}
      <p>
        They changed {listed(differences(base, newer))}.{newer.reason ? ` Why: ${newer.reason}.` : ""}
      </p>
      <p>
        You changed {listed(mine)}. {clashes.length === 0 ? "The two go together." : `Of what both of you changed, ${listed(clashes)}, yours goes into the form.`}
      </p>
    </Notice>
  );
}

function Gone({ others: { deletion }, onNew }: Props) {
  return (
    <Notice
      tone="bad"
      title={`${deletion?.actor ?? "Somebody else"} deleted this pool meanwhile`}
      actions={
        <>
          <Button onClick={onNew}>Make a new one of it</Button>
          <ButtonLink href={href("pools")}>All pools</ButtonLink>
        </>
      }
    >
      {deletion?.reason && <p>Why: {deletion.reason}.</p>}
      <p>What you typed is still here.</p>
    </Notice>
  );
}
