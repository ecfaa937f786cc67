import type { ComponentChildren } from "preact";
import type { Amount as Value } from "../../api/json";
import type { Allocation, KeyUse, Pool, Unit, UsedDimension } from "../../api/types";
import { href } from "../../app/route";
import { Swatch } from "../../parts/bar";
import { Amount } from "../../parts/figures";
import { type Column, Table } from "../../parts/table";
import { useSession } from "../../state/session";
import { count, exactAmount, figure } from "../../words/amount";
import { capWords } from "../../words/caps";
import { compare, minus } from "../../words/decimal";
import { keyName } from "../../words/keys";
import { shareWords } from "../../words/percent";
import { perMinute } from "../../words/rate";
import { dimensionName, policyMeaning } from "../../words/terms";
import { unitTitle } from "../../words/units";
import { verdict } from "../../words/verdict";
import { ShareMeter } from "../pools/share";
import type { CountedProps } from "./index";

type Row = KeyUse & { rule: Allocation | undefined };

/** Known amounts in their order, those that are not known before them. */
const byAmount = (of: (row: Row) => Value | null) => (a: Row, b: Row): number => {
  const [x, y] = [of(a), of(b)];
  if (x === null || y === null) return Number(x !== null) - Number(y !== null);
  return compare(x, y);
};

/** Each key with its share and what it has of it. */
export function Allocations({ pool, usage, dimension: d, hues }: CountedProps) {
  const minute = useSession().store.minute.value;
  const verdicts = new Map(usage.keys.map((key) => [key.apiKeyId, key]));
  const rows = d.perKey.map((key): Row => ({ ...key, rule: pool.allocations.find((a) => a.apiKeyId === key.allocation) }));
  const hidden = usage.unlistedKeys - d.perKey.filter((key) => key.allocation !== key.apiKeyId).length;
  const said = (row: Row) => {
    const v = verdicts.get(row.apiKeyId);
    return v && verdict(v, minute);
  };
  const columns: Column<Row>[] = [
    { id: "key", title: "Key", compare: (a, b) => a.apiKeyId.localeCompare(b.apiKeyId), cell: (row) => <Name of={row} hue={hues.get(row.apiKeyId) ?? -1} pool={pool} /> },
    { id: "used", title: "Used", right: true, compare: byAmount((row) => row.consumed), cell: (row) => <Amount of={row.consumed} unit={d.unit} as="figure" /> },
    { id: "share", title: "Fair share", right: true, compare: byAmount((row) => row.fairShare), cell: (row) => <Share of={row} d={d} hue={hues.get(row.apiKeyId) ?? -1} /> },
    { id: "deficit", title: "Left or borrowed", right: true, compare: byAmount((row) => row.deficit), cell: (row) => <Deficit of={row.deficit} d={d} /> },
    ...(d.kept === undefined ? [] : [promisedColumn(d)]),
    { id: "now", title: "Now", cell: (row) => <span class={`${said(row)?.tone ?? "quiet"}-text`}>{said(row)?.text ?? "not known"}</span> },
    { id: "held", title: "In flight", right: true, compare: byAmount((row) => row.held), cell: (row) => <Amount of={row.held} unit={d.unit} as="figure" /> },
    // Of points only the provider tells, and not by the minute.
    ...(d.unit === "percent" ? [] : [rateColumn(d.unit)]),
    { id: "policy", title: "Policy", cell: (row) => (row.rule ? <span title={policyMeaning(row.rule.policy)}>{row.rule.policy}</span> : "none") },
    { id: "cap", title: "Cap", cell: (row) => capWords(pool, row.rule?.apiKeyId ?? row.apiKeyId).join("; ") || "none" },
  ];
  return (
    <Section title="Allocations" lead={`Who has which share of ${dimensionName(d)}, and how much of it. All figures are ${unitTitle(d.unit)}.`}>
      <Table caption={`Allocations, ${dimensionName(d)}`} columns={columns} rows={rows} rowKey={(row) => row.apiKeyId} />
      {hidden > 0 && <p class="faint">{count(hidden, "more key")} without a share used less than those that are listed.</p>}
    </Section>
  );
}

export function Section({ title, lead, children }: { title: string; lead?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="pool-section" aria-label={title}>
      <div>
        <h2>{title}</h2>
        {lead && <p class="soft">{lead}</p>}
      </div>
      {children}
    </section>
  );
}

function Name({ of, hue, pool }: { of: Row; hue: number; pool: Pool }) {
  const as = of.allocation === null ? "no share of its own" : of.apiKeyId !== of.allocation ? "counts as everyone else" : `weight ${of.rule?.weight ?? "not known"}`;
  return (
    <span class="key-cell">
      <Swatch hue={hue} />
      <span>
        {of.apiKeyId === "*" ? keyName("*") : <a href={href("why", "", { key: of.apiKeyId, pool: pool.id })}>{of.apiKeyId}</a>}
        <span class="key-as">{as}</span>
      </span>
    </span>
  );
}

function Share({ of, d, hue }: { of: Row; d: UsedDimension; hue: number }) {
  if (of.fairShare === null) return <span class="faint nowrap">{d.limit === null ? "limit not known" : of.allocation === null ? "none" : "with everyone else"}</span>;
  return (
    <span class="share-cell">
      <Amount of={of.fairShare} unit={d.unit} as="figure" />
      <ShareMeter of={of} hue={hue} tone="quiet" />
      <span class="key-as">{shareWords(of, d.limit, "it used")}</span>
    </span>
  );
}

/** How much is borrowed above the share, or left of it, and never a sign that has to be thought about. */
function Deficit({ of, d: { unit, limit } }: { of: Value | null; d: UsedDimension }) {
  if (of === null) return <span class="faint">{limit === null ? "not known" : "–"}</span>;
  if (compare(of, 0) <= 0) return <span title={exactAmount(minus(0, of), unit)}>{figure(minus(0, of), unit)} left</span>;
  return (
    <span class="warn-text" title={exactAmount(of, unit)}>
      borrows {figure(of, unit)}
    </span>
  );
}

/** What each can still use whatever the others do. */
const promisedColumn = ({ unit }: UsedDimension): Column<Row> => ({
  id: "promised", title: "Promised", right: true, compare: byAmount((row) => row.promised ?? null),
  cell: (row) => (row.promised === undefined ? <span class="faint">–</span> : <Amount of={row.promised} unit={unit} as="figure" />),
});

const rateColumn = (unit: Unit): Column<Row> => ({
  id: "rate", title: "Per minute", right: true, compare: byAmount((row) => row.burnRate.perSecond),
  cell: (row) => <Rate of={row.burnRate.perSecond} unit={unit} />,
});

/** How fast it is used just now; without two minutes with use in the last hour there is none. */
function Rate({ of, unit }: { of: Value; unit: Unit }) {
  return compare(of, 0) === 0 ? <span class="faint">no data</span> : <Amount of={perMinute(of)} unit={unit} as="figure" />;
}
