import type { Reach, Rule } from "../../api/types";
import { documentOf, type Draft } from "../../model/draft";
import { Amount } from "../../parts/figures";
import { type Column, Table } from "../../parts/table";
import { useSession } from "../../state/session";
import { useTrial } from "../../state/trial";
import { amount, count } from "../../words/amount";
import { keyName } from "../../words/keys";
import { dimensionName, dimensionTitle } from "../../words/terms";

type Dimension = Reach["dimensions"][number];
type Row = Dimension["perKey"][number];

const rules: readonly { rule: Rule; name: string }[] = [
  { rule: "threshold", name: "threshold" },
  { rule: "guarantee", name: "guarantee" },
];

/**
 * What each key could use alone, under either rule. The engine works it out, by
 * the rules themselves; it is asked again when something changes that they look at.
 */
export function ReachPreview({ draft }: { draft: Draft }) {
  const { api } = useSession();
  const { id: _, mode: __, onDegraded: ___, modelCaps: ____, rule: _____, ...counted } = documentOf(draft);
  const body = { ...counted, name: "draft" };
  const ready = body.provider !== undefined && body.connections.some((c) => c.connectionId) && (body.allocations ?? []).some((a) => a.apiKeyId);
  const { value, error, busy } = useTrial(ready ? JSON.stringify(body) : null, () => api.pools.reach(body));
  return (
    <section class={`card panel reach${busy ? " trying" : ""}`} aria-label="What each key could use">
      <div>
        <h2>What each key could use</h2>
        <p class="soft">
          Each key alone, in a window in which nothing was used yet: what it could use at once by many small requests, and what by the end of the window.
        </p>
      </div>
      {!ready && <p class="soft">Name a connection, its provider and a key, and it is worked out.</p>}
      {error && <p class="soft">It is worked out when what is typed could be saved{error.faults.length === 0 ? `: ${error.message}` : "."}</p>}
      {value?.dimensions.map((d) => <Limit key={`${d.unit}/${d.window}`} of={d} chosen={draft.rule} />)}
      {value && value.dimensions.length === 0 && <p class="soft">No plan says what the first connection may use: there is nothing to use up yet.</p>}
      {value && value.total > (value.dimensions[0]?.perKey.length ?? 0) && value.dimensions.some((d) => d.limit !== null) && (
        <p class="faint">The first {count(value.dimensions[0]?.perKey.length ?? 0, "key")} of {value.total} are shown.</p>
      )}
    </section>
  );
}

function Limit({ of: d, chosen }: { of: Dimension; chosen: Rule }) {
  if (d.limit === null) {
    return (
      <section>
        <h3>{dimensionTitle(d)}</h3>
        <p class="soft">The limit is not known, so no rule stops anybody.</p>
      </section>
    );
  }
  const when = [{ at: "atOnce", name: "at once" }, { at: "byEnd", name: "by the end" }] as const;
  const columns: Column<Row>[] = [
    { id: "key", title: "Key", cell: (row) => keyName(row.apiKeyId) },
    ...rules.flatMap(({ rule, name }) =>
      when.map(({ at, name: moment }): Column<Row> => ({
        id: `${rule} ${at}`, right: true, title: `By ${name} ${moment}`,
        cell: (row) => <span class={rule === chosen ? "reach-chosen" : "soft"}><Amount of={row[rule][at]} unit={d.unit} as="figure" /></span>,
      })),
    ),
  ];
  return (
    <section>
      <h3>{dimensionTitle(d)}</h3>
      <p class="soft">Of {amount(d.limit, d.unit)} for all.</p>
      <Table caption={`What each key could use of ${dimensionName(d)}`} columns={columns} rows={d.perKey} rowKey={(row) => row.apiKeyId} />
    </section>
  );
}
