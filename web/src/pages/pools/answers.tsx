import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { href } from "../../app/route";
import { type BlockedKey, blockedNow } from "../../model/blocked";
import { type Use, uses } from "../../model/figures";
import { usedUp } from "../../model/health";
import { type Lasting, lasting, type Rolling, rolling } from "../../model/lasting";
import { Amount, Percent, When } from "../../parts/figures";
import { Button } from "../../parts/button";
import { Meter } from "../../parts/meter";
import { useSession } from "../../state/session";
import { count } from "../../words/amount";
import { outcomeWords, rollingWords } from "../../words/outcome";
import { percent, portion } from "../../words/percent";
import { dimensionName, reasonLong, windowNoun } from "../../words/terms";
import { keyName } from "../../words/keys";

/** What most come here to know: is somebody blocked, will it last, and is it fair. */
export function Answers() {
  return (
    <div class="answers">
      <WhoIsBlocked />
      <WillItLast />
      <WhoUsesWhat />
    </div>
  );
}

/** How many rows an answer has before one asks for more. */
const few = 4;

interface AnswerProps<Row> {
  title: string;
  /** The answer in one line. */
  said: string;
  tone: "good" | "warn" | "bad" | "quiet";
  rows: readonly Row[];
  children: (row: Row) => ComponentChildren;
}

function Answer<Row>({ title, said, tone, rows, children }: AnswerProps<Row>) {
  const [all, setAll] = useState(false);
  const hidden = rows.length - few;
  return (
    <section class="card answer" aria-label={title}>
      <h2>{title}</h2>
      <p class={`answer-said ${tone}-text`}>{said}</p>
      {rows.length > 0 && <ul>{(all ? rows : rows.slice(0, few)).map(children)}</ul>}
      {hidden > 0 && (
        <Button kind="quiet" onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show ${count(hidden, "more", "more")}`}
        </Button>
      )}
    </section>
  );
}

function WhoIsBlocked() {
  const { store } = useSession();
  const rows = blockedNow(store.all.value, store.blocks.value);
  const real = rows.filter((row) => row.verdict.decision === "block").length;
  const would = rows.length - real;
  const parts = [real > 0 && `${count(real, "key")} blocked`, would > 0 && `${count(would, "key")} would be, but the pool only observes`];
  return (
    <Answer
      title="Who is blocked now?"
      said={parts.filter(Boolean).join(", ") || "Nobody."}
      tone={real > 0 ? "bad" : would > 0 ? "warn" : "good"}
      rows={rows}
    >
      {(row) => <BlockedRow key={`${row.pool.id} ${row.verdict.apiKeyId}`} of={row} />}
    </Answer>
  );
}

function BlockedRow({ of: { pool, verdict, binding } }: { of: BlockedKey }) {
  const about = { key: verdict.apiKeyId, connection: pool.connectionIds[0] ?? "" };
  return (
    <li class="answer-row">
      <p class="answer-line">
        <strong>{keyName(verdict.apiKeyId)}</strong>
        <span class={verdict.decision === "block" ? "bad-text" : "warn-text"}>
          {verdict.decision === "block" ? "blocked" : "would be blocked"}
          {verdict.retryAt !== null && (
            <>
              {" until "}
              <When at={verdict.retryAt} as="at" />
            </>
          )}
        </span>
      </p>
      <p class="answer-small">
        {reasonLong(verdict.reason, binding)} In <a href={href("pool", pool.id)}>{pool.name}</a>. <a href={href("why", "", about)}>Why exactly?</a>
      </p>
    </li>
  );
}

type Window = { kind: "account"; row: Lasting } | { kind: "rolling"; row: Rolling };

function WillItLast() {
  const { store } = useSession();
  const accounts = lasting(store.all.value, store.minute.value);
  const limits = rolling(store.all.value);
  const rows: Window[] = [
    ...accounts.map((row): Window => ({ kind: "account", row })),
    ...limits.map((row): Window => ({ kind: "rolling", row })),
  ];
  const gone = accounts.filter((row) => row.outcome.kind === "gone").length;
  const short = accounts.filter((row) => row.outcome.kind === "short").length;
  const full = limits.filter((row) => usedUp(row.dimension)).length;
  const parts = [gone > 0 && `${count(gone, "window")} used up`, full > 0 && `${count(full, "limit")} without a reset used up`, short > 0 && `${count(short, "window")} will run out before the reset`];
  const calm = accounts.length > 0 ? "Every account lasts until its reset." : "No provider has told of a reset yet.";
  return (
    <Answer
      title="Will it last until the reset?"
      said={parts.filter(Boolean).join(", ") || calm}
      tone={gone + full > 0 ? "bad" : short > 0 ? "warn" : accounts.length > 0 ? "good" : "quiet"}
      rows={rows}
    >
      {(of) => (of.kind === "account" ? <AccountRow key={of.row.id} of={of.row} /> : <RollingRow key={of.row.id} of={of.row} />)}
    </Answer>
  );
}

/** What is used beside what is over of the window: who is ahead of the clock runs out. */
function AccountRow({ of }: { of: Lasting }) {
  const said = outcomeWords(of.outcome, of.resetAt, useSession().store.now.value);
  return (
    <li class="answer-row">
      <p class="answer-line">
        <a href={href("pool", of.poolId)}>
          {of.connectionId}, {windowNoun(of.window)}
          {of.scope !== undefined && ` of ${of.scope}`}
        </a>
        <span class={`${said.tone}-text`}>{said.text}</span>
      </p>
      <Meter value={of.used} beside={of.elapsed} tone={said.tone} label={`${percent(of.used, "the limit")} used; ${percent(of.elapsed, "the time")} over`} />
      <p class="answer-small">
        <Percent value={of.used} of="the limit" /> used, <Percent value={of.elapsed} of="the time" /> over
      </p>
    </li>
  );
}

function RollingRow({ of: { poolId, poolName, dimension: d } }: { of: Rolling }) {
  const said = rollingWords(d);
  return (
    <li class="answer-row">
      <p class="answer-line">
        <a href={href("pool", poolId)}>
          {poolName}, {dimensionName(d)}
        </a>
        <span class={`${said.tone}-text`}>{said.text}</span>
      </p>
      <Meter value={d.usedPercent ?? 0} tone={said.tone === "bad" ? "bad" : "quiet"} label={`${percent(d.usedPercent, "the limit")} used`} />
      <p class="answer-small">
        <Percent value={d.usedPercent} of="the limit" /> used, without a reset: what is older counts no more
      </p>
    </li>
  );
}

function WhoUsesWhat() {
  const rows = uses(useSession().store.all.value);
  const above = rows.filter((use) => use.key.borrowing).length;
  const calm = rows.length > 0 ? "Nobody uses more than its share." : "Nobody has used anything that has a limit.";
  return (
    <Answer
      title="Who uses what, against which share?"
      said={above > 0 ? `${count(above, "key")} above ${above === 1 ? "its" : "their"} share.` : calm}
      tone={above > 0 ? "warn" : rows.length > 0 ? "good" : "quiet"}
      rows={rows}
    >
      {(use) => <UseRow key={`${use.pool.id} ${use.key.apiKeyId}`} of={use} />}
    </Answer>
  );
}

function UseRow({ of: { pool, dimension: d, key } }: { of: Use }) {
  return (
    <li class="answer-row">
      <p class="answer-line">
        <strong>{keyName(key.apiKeyId)}</strong>
        <span class={key.borrowing ? "warn-text" : "soft"}>{portion(key.consumed, key.fairShare, "its share")}</span>
      </p>
      <p class="answer-small">
        <Amount of={key.consumed} unit={d.unit} as="figure" /> of <Amount of={key.fairShare} unit={d.unit} as="figure" />, {dimensionName(d)}, in{" "}
        <a href={href("pool", pool.id)}>{pool.name}</a>
      </p>
    </li>
  );
}
