import type { ComponentChildren } from "preact";
import type { Amount as Value } from "../../api/json";
import type { Allocation, KeyUse, Pool, UsedDimension } from "../../api/types";
import { href } from "../../app/route";
import { ownRow } from "../../model/keys";
import { Swatch } from "../../parts/bar";
import { Amount } from "../../parts/figures";
import { type Column, Table } from "../../parts/table";
import { Tag } from "../../parts/tag";
import { useSession } from "../../state/session";
import { amount, count } from "../../words/amount";
import { capWords } from "../../words/caps";
import { compare, minus } from "../../words/decimal";
import { keyName } from "../../words/keys";
import { portion } from "../../words/percent";
import { rateWords } from "../../words/rate";
import { dimensionName, policyMeaning } from "../../words/terms";
import { verdict } from "../../words/verdict";
import type { CountedProps } from "./index";

type Row = KeyUse & { rule: Allocation | undefined };

/** A number alone says of points nothing; of all else, the title of the table says what it is. */
const asOf = (d: UsedDimension): "full" | "figure" => (d.unit === "percent" ? "full" : "figure");

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
  const as = asOf(d);
  const said = (row: Row) => {
    const v = verdicts.get(row.apiKeyId);
    return v && verdict(v, minute);
  };
  const columns: Column<Row>[] = [
    { id: "key", title: "Key", compare: (a, b) => a.apiKeyId.localeCompare(b.apiKeyId), cell: (row) => <Name of={row} hue={hues.get(row.apiKeyId) ?? -1} pool={pool} /> },
    { id: "used", title: "Used", right: true, compare: byAmount((row) => row.consumed), cell: (row) => <Amount of={row.consumed} unit={d.unit} as={as} /> },
    { id: "share", title: "Fair share", right: true, compare: byAmount((row) => row.fairShare), cell: (row) => <Share of={row} d={d} /> },
    { id: "deficit", title: "Borrows or has left", right: true, compare: byAmount((row) => row.deficit), cell: (row) => <Deficit of={row.deficit} d={d} /> },
    { id: "held", title: "Under way", right: true, compare: byAmount((row) => row.held), cell: (row) => <Amount of={row.held} unit={d.unit} as={as} /> },
    { id: "rate", title: "Burn rate", right: true, compare: byAmount((row) => row.burnRate.perSecond), cell: (row) => rateWords(row.burnRate.perSecond, d.unit) },
    { id: "policy", title: "Policy", cell: (row) => (row.rule ? <span title={policyMeaning(row.rule.policy)}>{row.rule.policy}</span> : "none") },
    { id: "cap", title: "Cap", cell: (row) => capWords(pool, row.rule?.apiKeyId ?? row.apiKeyId).join("; ") || "none" },
    { id: "now", title: "Now", cell: (row) => <span class={`${said(row)?.tone ?? "quiet"}-text`}>{said(row)?.text ?? "not known"}</span> },
  ];
  return (
    <Section title="Allocations" lead={`Who has which share of ${dimensionName(d)}, and how much of it.`}>
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
        {of.apiKeyId === "*" ? keyName("*") : <a href={href("why", "", { key: of.apiKeyId, connection: pool.connectionIds[0] ?? "" })}>{of.apiKeyId}</a>}
        <span class="key-as">{as}</span>
      </span>
    </span>
  );
}

function Share({ of, d }: { of: Row; d: UsedDimension }) {
  if (of.fairShare === null) return <span class="faint">{d.limit === null ? "limit not known" : of.allocation === null ? "none" : "with everyone else"}</span>;
  return (
    <span title={portion(of.consumed, of.fairShare, "its share")}>
      <Amount of={of.fairShare} unit={d.unit} as={asOf(d)} />
    </span>
  );
}

/** How much is borrowed above the share, or left of it, and never a sign that has to be thought about. */
function Deficit({ of, d: { unit, limit } }: { of: Value | null; d: UsedDimension }) {
  if (of === null) return <span class="faint">{limit === null ? "not known" : "no share of its own"}</span>;
  if (compare(of, 0) <= 0) return <span>{amount(minus(0, of), unit)} left</span>;
  return <span class="warn-text">borrows {amount(of, unit)}</span>;
}

/** How many lenders are named: all of them are in the table, and can be put in order there. */
const few = 6;

/** Who has more than its share, and whose it is. */
export function Borrowers({ dimension: d }: CountedProps) {
  const keys = d.perKey.filter(ownRow);
  const borrowing = keys.filter((key) => key.borrowing && key.deficit !== null);
  const lending = keys.filter((key) => key.deficit !== null && compare(key.deficit, 0) < 0);
  return (
    <Section title="Who borrows" lead={d.mode === "strict" ? "Shares count now: what lies above a share is called in." : "Shares do not count now: there is room for all."}>
      {borrowing.length === 0 && <p>Nobody has more than its share of {dimensionName(d)}.</p>}
      <ul class="borrowing">
        {borrowing.map((key) => (
          <li key={key.apiKeyId}>
            <Tag tone="warn">borrows</Tag> <strong>{keyName(key.apiKeyId)}</strong> {amount(key.deficit, d.unit)} above its share of {amount(key.fairShare, d.unit)}
          </li>
        ))}
        {borrowing.length > 0 &&
          lending.slice(0, few).map((key) => (
            <li key={key.apiKeyId}>
              <Tag>lends</Tag> <strong>{keyName(key.apiKeyId)}</strong> {amount(minus(0, key.deficit ?? 0), d.unit)} of its share not used
            </li>
          ))}
        {borrowing.length > 0 && lending.length > few && <li class="faint">{count(lending.length - few, "more", "more")} with some of their share left: see above.</li>}
      </ul>
    </Section>
  );
}
