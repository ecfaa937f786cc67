import type { ComponentChildren } from "preact";
import { href } from "../../app/route";
import type { Candidate, ExplainedHold, Explanation } from "../../api/answers";
import type { Plan, Signal, Unit } from "../../api/types";
import { When } from "../../parts/figures";
import { type Column, Table } from "../../parts/table";
import { count, exactAmount, notKnown } from "../../words/amount";
import { percentOf } from "../../words/decimal";
import { percent, percentFigure } from "../../words/percent";
import { dimensionName, modeMeaning, modeName, ruleMeaning, sourceName, windowNoun } from "../../words/terms";

/** What else the answer came from: documents, readings, requests in flight, and how it was found again. */
export function Sources({ of: e }: { of: Explanation }) {
  return (
    <>
      <section class="findings-part">
        <h2>Rules in force then</h2>
        <Table caption="Documents that were in force" columns={ruleColumns} rows={rulesOf(e)} rowKey={(row) => row.id} />
      </section>
      <section class="findings-part">
        <h2>What the provider had said</h2>
        {e.signals.length === 0 ? (
          <p class="soft">Nothing: the engine's own count alone was looked at.</p>
        ) : (
          <Table caption="Readings" columns={signalColumns} rows={e.signals} rowKey={(row) => `${row.connectionId}/${row.window}/${row.scope ?? ""}`} />
        )}
      </section>
      <Candidates of={e.reply.candidates ?? []} />
      <section class="findings-part">
        <h2>Requests in flight</h2>
        {e.holds.open === 0 ? (
          <p class="soft">None was in flight on the connections of the pool.</p>
        ) : (
          <>
            <p>{`${count(e.holds.open, "request was", "requests were")} in flight; those that held most:`}</p>
            <Table caption="Requests in flight" columns={holdColumns} rows={e.holds.top} rowKey={(row) => `${row.apiKeyId}/${row.connectionId}/${row.endsAt}/${JSON.stringify(row.estimate)}`} />
          </>
        )}
      </section>
      <p class="faint">{replayed(e)}</p>
    </>
  );
}

/** Where a request that let a connection be chosen might have gone. */
function Candidates({ of: all }: { of: readonly Candidate[] }) {
  if (all.length === 0) return null;
  return (
    <section class="findings-part">
      <h2>Connections to choose from</h2>
      <Table caption="Connections in the order in which they are tried" columns={candidateColumns} rows={all} rowKey={(row) => row.connectionId} />
    </section>
  );
}

const gates: Record<NonNullable<Candidate["gate"]>, string> = {
  saturated: "its provider says that a window is used up, so it comes last",
  capacity: "has as many in flight as it may, so it is not chosen",
  blocked: "the key would be blocked on it, so it is not chosen",
};

const candidateColumns: readonly Column<Candidate>[] = [
  { id: "connection", title: "Connection", cell: (row) => <span class="break">{row.connectionId}</span> },
  { id: "order", title: "Tried", right: true, cell: (row) => (row.order === 1 && row.gate !== "blocked" && row.gate !== "capacity" ? "first" : String(row.order)) },
  { id: "flight", title: "In flight", right: true, cell: (row) => (row.maxConcurrent === undefined ? String(row.inFlight) : `${row.inFlight} of ${row.maxConcurrent} at once`) },
  { id: "gate", title: "What stands against it", cell: (row) => (row.gate ? <span class="said">{gates[row.gate]}</span> : <span class="faint">nothing</span>) },
];

function replayed({ replay }: Explanation): string {
  const from = replay.snapshot === null ? "its first message" : `the snapshot at message ${replay.snapshot}`;
  const missing = replay.missing === 0 ? "" : ` ${count(replay.missing, "message is", "messages are")} not there any more.`;
  return `Folded again from the log, from ${from} to message ${replay.seq}.${missing}`;
}

interface RuleRow {
  readonly id: string;
  readonly what: ComponentChildren;
  readonly says: string;
  readonly revision: number;
  readonly updatedAt: string | null;
  readonly by: string;
}

const by = (actor: string | undefined, reason: string | undefined): string => [actor, reason].filter(Boolean).join(": ");

function rulesOf({ rules: { pool, plans, settings }, question }: Explanation): RuleRow[] {
  const own = pool?.allocations.find((a) => a.apiKeyId === question.apiKeyId);
  const stamp = (of: { revision: number; updatedAt?: string; actor?: string; reason?: string }) => ({ revision: of.revision, updatedAt: of.updatedAt ?? null, by: by(of.actor, of.reason) });
  const poolRow: RuleRow[] = pool
    ? [{
        id: "pool",
        what: <a href={href("pool", pool.id)}>{`Pool ${pool.name}`}</a>,
        says: [`${modeName(pool.mode)}: ${modeMeaning(pool.mode)}`, ruleMeaning(pool.rule), own && `${own.apiKeyId} has weight ${own.weight}, ${own.policy}`].filter(Boolean).join("; "),
        ...stamp(pool),
      }]
    : [{ id: "pool", what: "No pool", says: "The connection was in none.", revision: 0, updatedAt: null, by: "" }];
  return [
    ...poolRow,
    ...plans.map((plan) => ({ id: `plan ${plan.connectionId}`, what: <a href={href("plans", plan.connectionId)}>{`Plan of ${plan.connectionId}`}</a>, says: planSays(plan), ...stamp(plan) })),
    {
      id: "settings",
      what: <a href={href("settings")}>Settings</a>,
      says: `shares count from ${percentFigure(percentOf(settings.saturationThreshold.value, 1, 4) ?? 0)} of the limit on (${settings.saturationThreshold.source})`,
      ...stamp(settings),
    },
  ];
}

function planSays(plan: Plan): string {
  const all = plan.dimensions.map((d) => `${String(d.limit) === "0" ? notKnown : exactAmount(d.limit, d.unit)} (${dimensionName(d)})`);
  return `${sourceName(plan.source)}${all.length > 0 ? `: ${all.join(", ")}` : ""}`;
}

const ruleColumns: readonly Column<RuleRow>[] = [
  { id: "what", title: "Document", cell: (row) => row.what },
  { id: "says", title: "Says", cell: (row) => <span class="said">{row.says}</span> },
  { id: "revision", title: "Revision", right: true, cell: (row) => (row.revision === 0 ? <span class="faint nowrap">never set</span> : String(row.revision)) },
  { id: "changed", title: "Changed", cell: (row) => <When at={row.updatedAt} as="clock" unknown="never" /> },
  { id: "by", title: "By", cell: (row) => (row.by ? <span class="break">{row.by}</span> : <span class="faint nowrap">not said</span>) },
];

const signalColumns: readonly Column<Signal>[] = [
  { id: "connection", title: "Connection", cell: (row) => <span class="break">{row.connectionId}</span> },
  { id: "window", title: "Of", cell: (row) => `${windowNoun(row.window)}${row.scope === undefined ? "" : `, models with ${row.scope}`}` },
  { id: "used", title: "Used", right: true, cell: (row) => percent(row.usedPercent, "its window", "not known") },
  { id: "keys", title: "By keys", right: true, cell: (row) => exactAmount(row.attributed, "percent") },
  { id: "rest", title: "By no key", right: true, cell: (row) => exactAmount(row.unattributed, "percent") },
  { id: "said", title: "Said", cell: (row) => <When at={row.observedAt} as="clock" /> },
  { id: "reset", title: "Starts anew", cell: (row) => <When at={row.resetAt} as="clock" /> },
  { id: "stands", title: "Stood then", cell: (row) => (row.signal === "fresh" ? "yes" : "no: too old") },
];

function estimateSays(hold: ExplainedHold): string {
  return Object.entries(hold.estimate).map(([unit, amount]) => exactAmount(amount, unit as Unit)).join(", ");
}

const holdColumns: readonly Column<ExplainedHold>[] = [
  { id: "key", title: "Key", cell: (row) => <span class="break">{row.apiKeyId}</span> },
  { id: "connection", title: "Connection", cell: (row) => <span class="break">{row.connectionId}</span> },
  { id: "model", title: "Model", cell: (row) => row.model ?? <span class="faint">not said</span> },
  { id: "holds", title: "Holds", cell: estimateSays },
  { id: "ends", title: "At most until", cell: (row) => <When at={row.endsAt} as="clock" /> },
];
