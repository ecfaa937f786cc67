import type { ExplainedEvent, ExplainedLine, Explanation } from "../../api/answers";
import type { Unit } from "../../api/types";
import { allocationOf, counted, unexplained } from "../../model/arithmetic";
import { bucketsOf } from "../../model/buckets";
import { type Rest, restOf } from "../../model/rest";
import { Button } from "../../parts/button";
import { When } from "../../parts/figures";
import { Notice } from "../../parts/notice";
import { type Column, Table } from "../../parts/table";
import { count, exactAmount, exactly } from "../../words/amount";
import { compare } from "../../words/decimal";
import { percentFigure } from "../../words/percent";
import { dimensionName, dimensionTitle } from "../../words/terms";
import { duration, instant } from "../../words/time";

/** The events that the consumption consists of, line by line. */
export function Consumption({ of: e, onMore }: { of: Explanation; onMore: (() => void) | null }) {
  if (e.consumption.length === 0) return null;
  return (
    <section class="findings-part">
      <h2>The events behind it</h2>
      {e.consumption.map((line) => (
        <Line key={`${line.unit}/${line.window}/${line.model ?? ""}`} of={line} e={e} onMore={onMore} />
      ))}
    </section>
  );
}

/** Whose events these are: keys without an allocation of their own are counted together. */
function whose({ question, rules }: Explanation): string {
  return allocationOf(rules.pool, question.apiKeyId)?.apiKeyId === "*" ? "All keys without a share of their own" : question.apiKeyId;
}

function Line({ of: line, e, onMore }: { of: ExplainedLine; e: Explanation; onMore: (() => void) | null }) {
  const rest = unexplained(line);
  const used = exactAmount(line.consumed ?? line.found, line.unit);
  return (
    <section class="card why-line">
      <h3>{line.model === undefined ? dimensionTitle(line) : `${dimensionTitle(line)} with ${line.model}`}</h3>
      <p>
        {`${whose(e)} used ${used} since `}
        <When at={line.from} as="clock" />
        {`: ${count(line.events, "event")} found, which ${line.events === 1 ? "counts" : "together count"} ${exactAmount(line.found, line.unit)}.`}
      </p>
      <Window of={line} at={instant(e.reply.asOf.time)} />
      {compare(rest, 0) > 0 && <Notice tone="warn" title={`The log does not have the events of ${exactAmount(rest, line.unit)} any more`} />}
      {line.top.length > 0 && <Table caption={`Events of ${dimensionName(line)}, the heaviest first`} columns={columns(line)} rows={line.top} rowKey={(event) => `${event.seq}/${event.index}`} />}
      {line.top.length < line.events && (
        <p>
          {`${count(line.events - line.top.length, "more event")}. `}
          {onMore && <Button onClick={onMore}>Show more events</Button>}
        </p>
      )}
      <ByKey of={line} e={e} />
    </section>
  );
}

/** What of the window counts in full, and what in part. */
function Window({ of: line, at }: { of: ExplainedLine; at: number }) {
  const buckets = bucketsOf(line, at);
  if (!buckets) return line.unit === "percent" ? <p class="soft">The provider says how much of its window is used. That is split among the keys by what they used since the window began.</p> : null;
  const full = new Date(buckets.full).toISOString();
  return (
    <p class="soft">
      {"What was used since "}
      <When at={full} as="clock" />
      {" counts in full. What was used between "}
      <When at={line.from} as="clock" />
      {" and then is leaving the window little by little: "}
      {buckets.left === buckets.width ? "it counts in full still." : `of that ${duration(buckets.width)}, ${duration(buckets.left)} are still within it, so ${percentFigure(buckets.percent)} of it counts.`}
    </p>
  );
}

/** How much of an event's cost counts. A provider that counts in percent does not say what one request took of it. */
function partOf(event: ExplainedEvent) {
  const part = counted(event.cost, event.weight);
  return part === null ? <span class="faint">split</span> : percentFigure(part);
}

/** Of what the provider counts no event has a cost: its part is of what it is split by. */
function costOf(event: ExplainedEvent, unit: Unit) {
  if (event.splitBy) return exactly(event.splitBy.cost, event.splitBy.unit);
  return unit === "percent" && compare(event.cost, 0) === 0 ? <span class="faint nowrap">not said</span> : exactly(event.cost, unit);
}

/** Two short texts in one column, so that all columns have room. */
function Two({ first, second, title }: { first: string; second: string; title?: string }) {
  return (
    <span class="break">
      {first}
      <span class="why-second" title={title}>
        {second}
      </span>
    </span>
  );
}

function What(event: ExplainedEvent) {
  const what = event.type === "quota.adjustment" ? `correction: ${event.reason ?? ""}` : "usage";
  return <Two first={what} second={`${event.seq}, ${event.index}`} title={event.id} />;
}

function columns({ unit }: ExplainedLine): readonly Column<ExplainedEvent>[] {
  return [
    { id: "time", title: "Time", cell: (event) => <When at={event.time} as="clock" /> },
    { id: "cost", title: "Cost", right: true, compare: (a, b) => compare(a.cost, b.cost), cell: (event) => costOf(event, unit) },
    { id: "part", title: "Of it counts", right: true, cell: partOf },
    { id: "weight", title: "Counts", right: true, compare: (a, b) => compare(a.weight, b.weight), cell: (event) => exactly(event.weight, unit) },
    { id: "key", title: "Key", cell: (event) => <span class="break">{event.apiKeyId}</span> },
    { id: "connection", title: "Connection", cell: (event) => <span class="break">{event.connectionId}</span> },
    { id: "model", title: "Model, request", cell: (event) => <Two first={event.model ?? "model not said"} second={event.requestId ?? "request not said"} /> },
    { id: "what", title: "What, where", cell: What },
  ];
}

/** So many keys are one list, as a sum is written; more stand in columns. */
const few = 12;

/** Whose the rest may be. */
const restWords: Record<Rest["whose"], string> = {
  nobodys: "no key: more than was sent, and what is rounded off",
  unlisted: "keys that are not listed",
  both: "keys that are not listed, and no key",
};

/** What everybody used of the same, the most first, and what that is together. */
function ByKey({ of: line, e }: { of: ExplainedLine; e: Explanation }) {
  if (line.keys.length === 0) return null;
  const d = line.model === undefined ? e.reply.dimensions?.find(({ unit, window }) => unit === line.unit && window === line.window) : undefined;
  const rest = d && restOf(line, d.consumedTotal);
  return (
    <>
      <h4 class="by-key-title">Who used how much, the most first</h4>
      <dl class={`by-key${line.keys.length > few ? " many" : ""}`}>
        {line.keys.map((key) => (
          <div key={key.apiKeyId} class={key.apiKeyId === e.question.apiKeyId ? "asking" : undefined}>
            <dt>{key.apiKeyId}</dt>
            <dd>{exactAmount(key.consumed, line.unit)}</dd>
          </div>
        ))}
        {rest && (
          <div>
            <dt class="soft">{restWords[rest.whose]}</dt>
            <dd>{exactAmount(rest.amount, line.unit)}</dd>
          </div>
        )}
        {d && (
          <div>
            <dt class="soft">all together</dt>
            <dd>{exactAmount(d.consumedTotal, line.unit)}</dd>
          </div>
        )}
      </dl>
    </>
  );
}
