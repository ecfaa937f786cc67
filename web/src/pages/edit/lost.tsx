import { useEffect } from "preact/hooks";
import type { ApiError } from "../../api/error";
import type { Pool } from "../../api/types";
import { href } from "../../app/route";
import { type Draft, differences, draftOf, patchOf } from "../../model/draft";
import { mergedPool } from "../../model/merge";
import { Button, ButtonLink } from "../../parts/button";
import { Meanwhile } from "../../parts/meanwhile";
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
  const { document, clashes } = mergedPool(draftOf(base), draft, draftOf(newer));
  return (
    <Meanwhile
      by={newer.actor}
      what="this pool"
      why={newer.reason}
      said={said}
      theirs={listed(differences(base, newer))}
      mine={listed(Object.keys(patchOf(base, draft)))}
      both={listed(clashes)}
      onBoth={() => onFrom(newer, document)}
      onTheirs={() => onFrom(newer, draftOf(newer))}
    />
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
