import { href } from "../../app/route";
import { fairness, type Use, uses } from "../../model/figures";
import { Amount } from "../../parts/figures";
import { amount, count } from "../../words/amount";
import { keyName } from "../../words/keys";
import { shareWords } from "../../words/percent";
import { dimensionName } from "../../words/terms";
import type { Said } from "../../words/verdict";
import { Answer } from "./answer";
import { type AnswerProps, notHeard } from "./answers";
import { ShareMeter } from "./share";

/** Who uses what, against which share. */
export function IsItFair({ of, alone, heard }: AnswerProps) {
  const rows = uses(of);
  const note = [countNote(rows), alone ? aboveNote(rows) : ""].filter(Boolean).join(" ");
  const off = of.length > 0 && of.every(({ pool }) => pool.mode === "off");
  // The page of one pool has a table of them.
  return (
    <Answer title="Is it fair?" said={!heard ? notHeard : off ? switchedOff : saidOf(rows)} {...(note ? { note } : {})} rows={alone ? [] : rows}>
      {(use) => <UseRow key={`${use.pool.id} ${use.key.apiKeyId}`} of={use} />}
    </Answer>
  );
}

const switchedOff: Said = { tone: "quiet", text: "Nobody is held to a share: what is off only counts." };

/** What it means to be above a share: where a pool only observes, nothing. */
function countNote(rows: readonly Use[]): string {
  const { above, observed } = fairness(rows);
  if (above === 0) return "";
  return above > observed ? "Shares count there now." : "Shares would count there now, but nobody is blocked where a pool only observes.";
}

const are = (n: number): string => `${count(n, "key")} ${n === 1 ? "is" : "are"}`;
const its = (n: number): string => (n === 1 ? "its" : "their");

function saidOf(rows: readonly Use[]): Said {
  const { robbed, above, borrowing } = fairness(rows);
  if (robbed > 0) return { tone: "bad", text: `No: ${are(robbed)} blocked below ${its(robbed)} share.` };
  if (above > 0) return { tone: "warn", text: `Not quite: ${are(above)} above ${its(above)} share.` };
  if (borrowing > 0) return { tone: "good", text: `Yes: ${count(borrowing, "key borrows", "keys borrow")} what others leave.` };
  return rows.length > 0 ? { tone: "good", text: "Yes: nobody is above its share." } : { tone: "quiet", text: "Nobody has used anything that has a limit." };
}

/** How many names a note has. */
const named = 3;

/** "ann borrows 16.2 requests, bob borrows 3 requests and 2 more." */
function aboveNote(rows: readonly Use[]): string {
  const above = rows.filter((use) => use.key.borrowing);
  const told = above.slice(0, named).map(({ key, dimension }) => `${keyName(key.apiKeyId)} borrows ${amount(key.deficit, dimension.unit)}`);
  const more = above.length - told.length;
  return told.length === 0 ? "" : `${told.join(", ")}${more > 0 ? ` and ${count(more, "more", "more")}` : ""}.`;
}

function UseRow({ of: use }: { of: Use }) {
  const { pool, dimension: d, key } = use;
  const tone = use.robbed ? "bad" : key.borrowing ? "warn" : "good";
  return (
    <li class="answer-row">
      <p class="answer-line">
        <strong>{keyName(key.apiKeyId)}</strong>
        <span class={tone === "good" ? "soft" : `${tone}-text`}>
          {tone === "bad" && "blocked at "}
          {shareWords(key, d.limit)}
        </span>
      </p>
      <ShareMeter of={key} tone={tone} />
      <p class="answer-small">
        <Amount of={key.consumed} unit={d.unit} as="figure" /> of <Amount of={key.fairShare} unit={d.unit} as="figure" />, {dimensionName(d)}, in{" "}
        <a href={href("pool", pool.id)}>{pool.name}</a>
      </p>
    </li>
  );
}
