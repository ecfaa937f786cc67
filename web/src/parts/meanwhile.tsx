import type { ApiError } from "../api/error";
import { Button } from "./button";
import { Notice } from "./notice";

interface Props {
  /** Who, if it is known. */
  by: string | undefined;
  /** What was changed: "this plan". */
  what: string;
  why: string | undefined;
  /** What the engine said when it refused to save over the other change; null before. */
  said: ApiError | null;
  /** What they changed: "its mode". */
  theirs: string;
  mine: string;
  /** What both changed; "" for nothing. */
  both: string;
  onBoth: () => void;
  onTheirs: () => void;
}

/** Somebody else changed what one is changing. Nothing that was typed is lost: it is for who reads this to say what holds. */
export function Meanwhile({ by, what, why, said, theirs, mine, both, onBoth, onTheirs }: Props) {
  return (
    <Notice
      tone="bad"
      title={`${by ?? "Somebody else"} changed ${what} meanwhile`}
      actions={
        <>
          <Button kind="primary" onClick={onBoth}>
            Go on with both
          </Button>
          <Button onClick={onTheirs}>Take theirs, drop mine</Button>
        </>
      }
    >
      {said && <p>{said.message}</p>}
      <p>
        They changed {theirs}.{why ? ` Why: ${why}.` : ""}
      </p>
      <p>
        You changed {mine}. {both === "" ? "The two go together." : `Of what both of you changed, ${both}, yours goes into the form.`}
      </p>
    </Notice>
  );
}
