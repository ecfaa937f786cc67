import type { ConnectionUse, Pool, Signal, Unit, Usage, UsedDimension } from "../../api/types";
import { href } from "../../app/route";
import { Amount, Percent, When } from "../../parts/figures";
import { Table } from "../../parts/table";
import { amount, count } from "../../words/amount";
import { dimensionTitle, windowNoun } from "../../words/terms";
import { Section } from "./shares";

/** The accounts behind the pool, and what their providers say. */
export function Connections({ pool, usage, dimension: d }: { pool: Pool; usage: Usage; dimension: UsedDimension | undefined }) {
  const parts = new Map(d?.perConnection.map((c) => [c.connectionId, c]));
  const weights = new Map(pool.connections.map((c) => [c.connectionId, c.weight]));
  const { backlog } = usage;
  return (
    <Section title="Connections" lead={backlog.waiting > 0 ? `${count(backlog.waiting, "request")} of ${count(backlog.keys.length, "key")} wait for a free place.` : undefined}>
      <Table
        caption="Connections"
        rows={usage.connections}
        rowKey={(c) => c.connectionId}
        columns={[
          { id: "id", title: "Connection", cell: (c) => <a href={href("plans", c.connectionId)}>{c.connectionId}</a> },
          { id: "weight", title: "Weight", right: true, cell: (c) => weights.get(c.connectionId) ?? "not known" },
          ...(d ? [{ id: "used", title: dimensionTitle(d), right: true, cell: (c: { connectionId: string }) => <Part of={parts.get(c.connectionId)} unit={d.unit} /> }] : []),
          { id: "flight", title: "Requests in flight", right: true, cell: (c) => c.maxConcurrent === null ? `${c.inFlight}, no bound` : `${c.inFlight} of ${c.maxConcurrent}` },
        ]}
      />
      {usage.signals.length > 0 && (
        <Table
          caption="What the providers say"
          rows={usage.signals}
          rowKey={(s) => [s.connectionId, s.window, s.scope ?? ""].join(" ")}
          columns={[
            { id: "id", title: "Connection", cell: (s) => s.connectionId },
            { id: "window", title: "Window", cell: windowOf },
            { id: "used", title: "Used", right: true, cell: (s) => <Percent value={s.usedPercent} of="its limit" unknown="no longer known" /> },
            { id: "attributed", title: "By keys", right: true, cell: (s) => amount(s.attributed, "percent") },
            { id: "unattributed", title: "By no key", right: true, cell: (s) => amount(s.unattributed, "percent") },
            { id: "reset", title: "Starts anew", right: true, cell: (s) => <When at={s.resetAt} as="until" /> },
            { id: "age", title: "Told", right: true, cell: (s) => <When at={s.observedAt} /> },
          ]}
        />
      )}
    </Section>
  );
}

/** What one of them has given. */
function Part({ of, unit }: { of: ConnectionUse | undefined; unit: Unit }) {
  if (!of) return <span class="faint">not known</span>;
  return (
    <span>
      <Amount of={of.consumedTotal} unit={unit} as="figure" />
      <span class="faint"> {of.limit === null ? "used, limit not known" : <>of <Amount of={of.limit} unit={unit} /></>}</span>
    </span>
  );
}

const windowOf = (s: Signal): string => (s.scope === undefined ? windowNoun(s.window) : `${windowNoun(s.window)}, ${s.scope}`);
