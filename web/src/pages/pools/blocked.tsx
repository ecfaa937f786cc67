import { href } from "../../app/route";
import { type BlockedGroup, blockedNow, grouped } from "../../model/blocked";
import { When } from "../../parts/figures";
import { useSession } from "../../state/session";
import { count } from "../../words/amount";
import { keyName } from "../../words/keys";
import { reasonLong } from "../../words/terms";
import type { Said } from "../../words/verdict";
import { Answer } from "./answer";
import { type AnswerProps, notHeard } from "./answers";

/** Who is blocked now, why, and until when. */
export function WhoIsBlocked({ of, alone, heard }: AnswerProps) {
  const rows = blockedNow(of, useSession().store.blocks.value);
  const blocked = rows.filter((row) => row.verdict.decision === "block").length;
  const said = heard ? saidOf(blocked, rows.length - blocked, alone) : { said: notHeard };
  return (
    <Answer title="Who is blocked now?" {...said} rows={grouped(rows)}>
      {(group) => <BlockedRow key={group.id} of={group} alone={alone} />}
    </Answer>
  );
}

function saidOf(blocked: number, would: number, alone: boolean): { said: Said; note?: string } {
  const said: Said = blocked > 0 ? { tone: "bad", text: `${count(blocked, "key")} blocked.` } : { tone: would > 0 ? "warn" : "good", text: "Nobody." };
  return would === 0 ? { said } : { said, note: `${count(would, "key")} would be, ${alone ? "but the pool only observes" : "in pools that only observe"}.` };
}

/** How many names a row has: the page of the pool has all. */
const named = 4;

function BlockedRow({ of: { pool, keys, verdict, binding }, alone }: { of: BlockedGroup; alone: boolean }) {
  const more = keys.length - named;
  const real = verdict.decision === "block";
  return (
    <li class="answer-row">
      <p class="answer-line">
        <span>
          {keys.slice(0, named).map((id, place) => (
            <span key={id}>
              {place > 0 && ", "}
              <a class="strong" title="Why exactly?" href={href("why", "", { key: id, pool: pool.id })}>
                {keyName(id)}
              </a>
            </span>
          ))}
          {more > 0 && ` and ${count(more, "more", "more")}`}
        </span>
        <span class={real ? "bad-text" : "warn-text"}>
          {real ? "blocked" : "would be blocked"}
          {verdict.retryAt !== null && (
            <>
              {" until "}
              <When at={verdict.retryAt} as="at" />
            </>
          )}
        </span>
      </p>
      <p class="answer-small">
        {reasonLong(verdict.reason, binding)}
        {!alone && (
          <>
            {" In "}
            <a href={href("pool", pool.id)}>{pool.name}</a>.
          </>
        )}
      </p>
    </li>
  );
}
