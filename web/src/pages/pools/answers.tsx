import type { Known } from "../../model/blocked";
import type { Said } from "../../words/verdict";
import { WhoIsBlocked } from "./blocked";
import { IsItFair } from "./fair";
import { WillItLast } from "./lasts";

export interface AnswerProps {
  /** The pools that are asked about. */
  of: readonly Known[];
  /** They are one, whose page this is: its name is not told again. */
  alone: boolean;
  /** Some of them have told their numbers. */
  heard: boolean;
}

/** What is said while no pool has told its numbers. */
export const notHeard: Said = { tone: "quiet", text: "Not known yet: the numbers are being read." };

/** What most come here to know: is somebody blocked, will it last, and is it fair. */
export function Answers({ of, alone = false }: { of: readonly Known[]; alone?: boolean }) {
  const heard = of.some(({ usage }) => usage !== null);
  const all = { of, alone, heard };
  return (
    <div class="answers">
      <WhoIsBlocked {...all} />
      <WillItLast {...all} />
      <IsItFair {...all} />
    </div>
  );
}
