import { href } from "../../app/route";
import { type BlockedGroup, type BlockedKey, blockedNow, grouped } from "../../model/blocked";
import { When } from "../../parts/figures";
import { useCappedModels } from "../../state/models";
import { useSession } from "../../state/session";
import { count } from "../../words/amount";
import { keyName } from "../../words/keys";
import { detailBlocks } from "../../words/rule";
import { dimensionName, reasonLong } from "../../words/terms";
import type { Said } from "../../words/verdict";
import { Answer } from "./answer";
import { type AnswerProps, notHeard } from "./answers";

/** Who is blocked now, why, and until when. */
export function WhoIsBlocked({ of, alone, heard }: AnswerProps) {
  const rows = blockedNow(of, useSession().store.blocks.value, useCappedModels(of));
  const said = heard ? saidOf(rows, alone) : { said: notHeard };
  return (
    <Answer title="Who is blocked now?" {...said} rows={grouped(rows)}>
      {(group) => <BlockedRow key={group.id} of={group} alone={alone} />}
    </Answer>
  );
}

function saidOf(rows: readonly BlockedKey[], alone: boolean): { said: Said; note?: string } {
  const blocked = rows.filter(real);
  const would = rows.filter((row) => !real(row));
  const said: Said = blocked.length > 0 ? { tone: "bad", text: `${countKeys(blocked)} blocked.` } : { tone: would.length > 0 ? "warn" : "good", text: "Nobody." };
  return would.length === 0 ? { said } : { said, note: `${countKeys(would)} would be, ${alone ? "but the pool only observes" : "where pools only observe"}.` };
}

const real = ({ verdict }: BlockedKey): boolean => verdict.decision === "block";

/** "1 key", "12 keys in 3 pools": one key may be in several, and everyone else is another one in each. */
function countKeys(rows: readonly BlockedKey[]): string {
  const keys = new Set(rows.map(({ pool, verdict }) => (verdict.apiKeyId === "*" ? `* ${pool.id}` : verdict.apiKeyId)));
  const pools = new Set(rows.map(({ pool }) => pool.id));
  return pools.size > 1 ? `${count(keys.size, "key")} in ${count(pools.size, "pool")}` : count(keys.size, "key");
}

/** How many names a row has: the page of the pool has all. */
const named = 4;

function BlockedRow({ of: { pool, keys, verdict, binding, accounts, spread }, alone }: { of: BlockedGroup; alone: boolean }) {
  const more = keys.length - named;
  const stopped = verdict.decision === "block";
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
        <span class={stopped ? "bad-text" : "warn-text"}>
          {stopped ? "blocked" : "would be blocked"}
          {binding?.model !== undefined && ` for ${binding.model}`}
          {verdict.retryAt !== null && (
            <>
              {spread ? ", the first until " : " until "}
              <When at={verdict.retryAt} as="at" />
            </>
          )}
        </span>
      </p>
      <p class="answer-small">
        {accounts.length > 0 ? `Nothing is left of ${binding ? dimensionName(binding) : "a window"} of ${accounts.join(" and ")}, for all keys together.` : detailBlocks(verdict, binding) || reasonLong(verdict.reason, binding)}
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
