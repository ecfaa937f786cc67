import { href } from "../../app/route";
import { type Lasting, type Limit, limits, type Rolling, urgency } from "../../model/lasting";
import { Percent } from "../../parts/figures";
import { Meter } from "../../parts/meter";
import { useSession } from "../../state/session";
import { amount, count, figure } from "../../words/amount";
import { outcomeWords, rollingWords } from "../../words/outcome";
import { percent, portion } from "../../words/percent";
import { dimensionName, dimensionTitle, windowName, windowNoun } from "../../words/terms";
import { moment } from "../../words/time";
import type { Said } from "../../words/verdict";
import { Answer } from "./answer";
import { type AnswerProps, notHeard } from "./answers";

/** Whether each account lasts until its reset, and each limit of our own at its rate. */
export function WillItLast({ of, alone, heard }: AnswerProps) {
  const minute = useSession().store.minute.value;
  const rows = limits(of, minute);
  const answer = heard ? saidOf(rows) : { said: notHeard };
  const first = rows[0];
  const rate = alone && first?.kind === "rolling" ? rateNote(first.of, minute) : "";
  // The page of one pool has bars of its own limits.
  const shown = alone ? rows.filter((row) => row.kind === "account") : rows;
  return (
    <Answer title="Will it last?" {...answer} {...(rate ? { note: rate } : {})} rows={shown}>
      {(row) => (row.kind === "account" ? <AccountRow key={row.of.id} of={row.of} alone={alone} /> : <RollingRow key={row.of.id} of={row.of} />)}
    </Answer>
  );
}

/** What the rate leads to, in figures: "At this rate 1,535.4 requests per hour, of 3,000." */
function rateNote({ dimension: d, outcome }: Rolling, minute: number): string {
  if (outcome.kind === "used-up") return `${dimensionTitle(d)}: ${percent(d.usedPercent, "the limit")}.`;
  if (outcome.kind === "ends" || outcome.kind === "may-end") return `${dimensionTitle(d)}: at ${moment(outcome.at, minute)} at the earliest.`;
  return outcome.kind === "lasts" ? `At this rate ${amount(outcome.most, d.unit)} per ${windowName(d.window)}, of ${figure(d.limit, d.unit)}.` : "";
}

function saidOf(rows: readonly Limit[]): { said: Said; note?: string } {
  const at = (urgent: number): Limit[] => rows.filter((row) => urgency(row) === urgent);
  const gone = at(0).length;
  const ending = endingWords(at(1));
  if (gone > 0) return { said: { tone: "bad", text: `No: ${count(gone, "limit is", "limits are")} used up.` }, ...(ending ? { note: `${ending}.` } : {}) };
  const certain = at(1).some((row) => row.of.outcome.kind !== "may-end");
  if (ending) return { said: { tone: "warn", text: `${certain ? "No" : "Perhaps not"}: ${ending}.` } };
  if (rows.length === 0) return { said: { tone: "quiet", text: "Nobody can say: no limit is known." } };
  const accounts = rows.some((row) => row.kind === "account");
  if (rows.every((row) => row.of.outcome.kind === "no-data")) return { said: { tone: "quiet", text: "Nobody can say: too little was used in the last hour." } };
  return { said: { tone: "good", text: accounts ? "Yes: every account lasts until its reset." : "Yes: at this rate no limit is reached." } };
}

/** What will be used up, where there is such. */
function endingWords(rows: readonly Limit[]): string {
  const early = rows.filter((row) => row.kind === "account").length;
  const unsure = rows.filter((row) => row.of.outcome.kind === "may-end").length;
  const fast = rows.length - early - unsure;
  const parts = [
    early > 0 && `${count(early, "account window runs", "account windows run")} out before the reset`,
    fast > 0 && `${count(fast, "limit runs", "limits run")} out at this rate`,
    unsure > 0 && `${count(unsure, "limit", "limits")} may run out at this rate`,
  ];
  return parts.filter((part) => part !== false).join(", ");
}

/** What is used beside what is over of the window: who is ahead of the clock runs out. */
function AccountRow({ of, alone }: { of: Lasting; alone: boolean }) {
  const said = outcomeWords(of.outcome, of.resetAt, useSession().store.now.value);
  const name = `${of.connectionId}, ${windowNoun(of.window)}${of.scope === undefined ? "" : ` of ${of.scope}`}`;
  return (
    <li class="answer-row">
      <p class="answer-line">
        {alone ? <strong>{name}</strong> : <a href={href("pool", of.poolId)}>{name}</a>}
        <span class={`${said.tone}-text`}>{said.text}</span>
      </p>
      <Meter value={of.used} beside={of.elapsed} tone={said.tone} label={`${percent(of.used, "the limit")} used; ${percent(of.elapsed, "the time")} over`} />
      <p class="answer-small">
        <Percent value={of.used} of="the limit" />, <Percent value={of.elapsed} of="the time" />
      </p>
    </li>
  );
}

/** A limit without a reset: what is older than its window counts no more. */
function RollingRow({ of: { poolId, poolName, dimension: d, outcome } }: { of: Rolling }) {
  const said = rollingWords(outcome, useSession().store.now.value);
  return (
    <li class="answer-row">
      <p class="answer-line">
        <a href={href("pool", poolId)}>{`${poolName}, ${dimensionName(d)}`}</a>
        <span class={`${said.tone}-text`}>{said.text}</span>
      </p>
      <Meter value={d.usedPercent ?? 0} tone={said.tone} label={`${percent(d.usedPercent, "the limit")} used`} />
      <p class="answer-small">
        <Percent value={d.usedPercent} of="the limit" />
        {outcome.kind === "lasts" && `, going to ${portion(outcome.most, d.limit, "it")}`}
      </p>
    </li>
  );
}
