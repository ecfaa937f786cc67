import { useState } from "preact/hooks";
import { href } from "../../app/route";
import type { WhatIfReport, WhatIfSide } from "../../api/answers";
import type { Amount } from "../../api/json";
import type { Reason, Unit } from "../../api/types";
import { rowsOf, servedUnits, type ShiftRow, shiftsOf, type TrialRow, unitsOf } from "../../model/trial";
import { Button } from "../../parts/button";
import { When } from "../../parts/figures";
import { Meter } from "../../parts/meter";
import { Notice } from "../../parts/notice";
import { type Column, Table } from "../../parts/table";
import { useSession } from "../../state/session";
import { count, exactAmount, exactly } from "../../words/amount";
import { compare, grouped, percentOf } from "../../words/decimal";
import { portion } from "../../words/percent";
import { dimensionTitle, reasonShort } from "../../words/terms";

/** Both sides of a trial: as it was, and as it would have been. */
export function Outcome({ of: report, poolId }: { of: WhatIfReport; poolId: string }) {
  const [all, setAll] = useState(false);
  const rows = rowsOf(report, !all);
  const hidden = report.keys.length - rows.length;
  return (
    <>
      <Summary of={report} />
      {report.notes.map((note) => (
        <Notice key={note} tone="warn" title={note.charAt(0).toUpperCase() + note.slice(1)} />
      ))}
      <Shifts of={report} />
      <section class="findings-part">
        <h2>Key by key</h2>
        {rows.length === 0 ? <p class="soft">For no key would anything have been another.</p> : <Table caption="Each key before and after" columns={keyColumns(unitsOf(rows))} rows={rows} rowKey={(row) => row.apiKeyId} />}
        {(hidden > 0 || all) && (
          <div>
            <Button kind="quiet" onClick={() => setAll(!all)}>
              {all ? "Only keys with a difference" : `Show ${count(hidden, "key")} without a difference`}
            </Button>
          </div>
        )}
      </section>
      <Capacity of={report} poolId={poolId} />
    </>
  );
}

/** "2 requests that passed would have been blocked, and 1 that was blocked would have passed." */
function sentence({ newlyBlocked, newlyAllowed }: WhatIfReport["total"]): string {
  const blocked = `${count(newlyBlocked, "request")} that passed would have been blocked`;
  const allowed = `${count(newlyAllowed, "request")} that ${newlyAllowed === 1 ? "was" : "were"} blocked would have passed`;
  if (newlyBlocked > 0 && newlyAllowed > 0) return `${blocked}, and ${allowed}.`;
  if (newlyBlocked > 0) return `${blocked}.`;
  return newlyAllowed > 0 ? `${allowed}.` : "No request would have been answered otherwise.";
}

function Summary({ of: report }: { of: WhatIfReport }) {
  const { total, asked, from, to, replay } = report;
  const pools = useSession().store.pools.value ?? [];
  const judged = [count(asked.consumptions, "use"), count(asked.holds, "held request"), count(asked.blocks, "recorded block")].join(", ");
  return (
    <section class="card outcome">
      <h2>{sentence(total)}</h2>
      {pools.length > 1 && <p class="soft">{`Counted over all ${pools.length} pools together, here and key by key. Of this pool alone are its limits below.`}</p>}
      <dl class="trial-totals">
        <Total title="Allowed" before={total.before.allowed} after={total.after.allowed} />
        <Total title="Blocked" before={total.before.blocked} after={total.after.blocked} />
        <Total title="Blocked if it enforced" before={total.before.wouldBlock} after={total.after.wouldBlock} rare />
        <Total title="Allowed, after the others" before={total.before.deprioritized} after={total.after.deprioritized} rare />
        {servedUnits(report).map((unit) => (
          <div key={unit}>
            <dt>{servedTitle(unit)}</dt>
            <dd>
              <Both before={total.before.served[unit] ?? 0} after={total.after.served[unit] ?? 0} unit={unit} />
            </dd>
          </div>
        ))}
      </dl>
      <p class="faint">
        {from.time && to.time ? (
          <>
            {"Of what happened from "}
            <When at={from.time} as="clock" />
            {" to "}
            <When at={to.time} as="clock" />
            {`, messages ${from.seq} to ${to.seq} of the log. `}
          </>
        ) : (
          `Of messages ${from.seq} to ${to.seq} of the log. `
        )}
        {`Judged on both sides: ${judged}.`}
        {asked.unlike > 0 && ` ${count(asked.unlike, "recorded block")} came out as allowed when asked again by the rules of then.`}
        {replay.missing > 0 && ` ${count(replay.missing, "message is", "messages are")} not in the log any more.`}
      </p>
    </section>
  );
}

/** Who would have been served more, and who less. */
function Shifts({ of: report }: { of: WhatIfReport }) {
  const { rows, others } = shiftsOf(report);
  return (
    <section class="findings-part">
      <h2>Who would have had more, and who less</h2>
      {rows.length === 0 ? <p class="soft">Nobody would have been served more or less.</p> : <Table caption="Who would have been served more, and who less" columns={shiftColumns} rows={rows} rowKey={(row) => `${row.unit} ${row.apiKeyId}`} />}
      {others > 0 && <p class="faint">{`And ${count(others, "smaller difference")}: each key is below.`}</p>}
      <p class="faint">{"Those who were blocked did ask, and that is tried again. What they would have asked later, had they been served, nobody knows."}</p>
    </section>
  );
}

const shiftColumns: readonly Column<ShiftRow>[] = [
  { id: "key", title: "Key", cell: (row) => <span class="break">{row.apiKeyId}</span> },
  { id: "served", title: "Served", right: true, cell: ({ before, after, unit }) => <Sides before={exactAmount(before, unit)} after={exactAmount(after, unit)} /> },
  {
    id: "difference", title: "Difference", right: true,
    cell: ({ difference, part, unit, more }) => (
      <span class="trial-shift">
        <strong>{`${more ? "+" : "−"}${exactAmount(String(difference).replace(/^-/, ""), unit)}`}</strong>
        <Meter value={part} tone={more ? "good" : "warn"} />
      </span>
    ),
  },
];

const unitTitle = (unit: Unit): string => ({ requests: "Requests", tokens: "Tokens", usd: "Dollars", percent: "Points" })[unit];

const servedTitle = (unit: Unit): string => `${unitTitle(unit)} counted`;

/** rare: where it is 0 on both sides nobody asks for it. */
function Total({ title, before, after, rare = false }: { title: string; before: number; after: number; rare?: boolean }) {
  if (rare && before + after === 0) return null;
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        <BothCounts before={before} after={after} />
      </dd>
    </div>
  );
}

function BothCounts({ before, after }: { before: number; after: number }) {
  return <Sides before={grouped(String(before))} after={grouped(String(after))} />;
}

/** What is the same on both sides stands alone. */
function Both({ before, after, unit }: { before: Amount; after: Amount; unit: Unit }) {
  return compare(before, after) === 0 ? <span>{exactly(after, unit)}</span> : <Sides before={exactly(before, unit)} after={exactly(after, unit)} />;
}

function Sides({ before, after }: { before: string; after: string }) {
  if (before === after) return <span>{after}</span>;
  return (
    <span class="sides">
      <span class="faint">{before}</span> <span aria-hidden="true">→</span>
      <span class="hidden-text">becomes</span> <strong>{after}</strong>
    </span>
  );
}

type BlockedFor = Reason | "unknown-pool";

/** For what the key was blocked on either side, and how often. */
function ReasonsOf({ row: { before, after } }: { row: TrialRow }) {
  const all = [...new Set([...Object.keys(before.reasons), ...Object.keys(after.reasons)])] as BlockedFor[];
  if (all.length === 0) return <span class="faint">nothing</span>;
  const times = (side: WhatIfSide, reason: BlockedFor): number => (side.reasons as { [reason in BlockedFor]?: number })[reason] ?? 0;
  return (
    <span class="trial-reasons">
      {all.map((reason) => (
        <span key={reason}>
          {reason === "unknown-pool" ? "no such pool" : reasonShort(reason)} <BothCounts before={times(before, reason)} after={times(after, reason)} />
        </span>
      ))}
    </span>
  );
}

function keyColumns(units: readonly Unit[]): readonly Column<TrialRow>[] {
  const number = (id: string, title: string, of: (row: TrialRow) => number): Column<TrialRow> => ({
    id, title, right: true, compare: (a, b) => of(a) - of(b), cell: (row) => (of(row) === 0 ? <span class="faint">0</span> : <strong>{grouped(String(of(row)))}</strong>),
  });
  return [
    { id: "key", title: "Key", compare: (a, b) => (a.apiKeyId < b.apiKeyId ? -1 : 1), cell: (row) => <span class="break">{row.apiKeyId}</span> },
    number("newlyBlocked", "Newly blocked", (row) => row.newlyBlocked),
    number("newlyAllowed", "Newly allowed", (row) => row.newlyAllowed),
    { id: "allowed", title: "Allowed", right: true, compare: (a, b) => a.after.allowed - b.after.allowed, cell: ({ before, after }) => <BothCounts before={before.allowed} after={after.allowed} /> },
    { id: "blocked", title: "Blocked", right: true, compare: (a, b) => a.after.blocked - b.after.blocked, cell: ({ before, after }) => <BothCounts before={before.blocked} after={after.blocked} /> },
    ...units.map((unit): Column<TrialRow> => ({
      id: unit, title: unitTitle(unit), right: true,
      compare: (a, b) => compare(a.after.served[unit] ?? 0, b.after.served[unit] ?? 0),
      cell: ({ before, after }) => <Both before={before.served[unit] ?? 0} after={after.served[unit] ?? 0} unit={unit} />,
    })),
    { id: "reasons", title: "Blocked for", cell: (row) => <ReasonsOf row={row} /> },
  ];
}

type CapacityRow = WhatIfReport["capacity"][number];

/** What of the limits nobody used, in the windows in which somebody asked. */
function Capacity({ of: report, poolId }: { of: WhatIfReport; poolId: string }) {
  const pools = useSession().store.pools.value ?? [];
  const rows = report.capacity.filter((row) => row.poolId === poolId);
  if (rows.length === 0) return null;
  const name = pools.find((pool) => pool.id === poolId)?.name ?? poolId;
  return (
    <section class="findings-part">
      <h2>
        {"Limits of "}
        <a href={href("pool", poolId)}>{name}</a>
      </h2>
      <Table caption="What was used of the limits, before and after" columns={capacityColumns} rows={rows} rowKey={(row) => `${row.unit}/${row.window}`} />
      <p class="faint">
        Summed up over the windows in which somebody asked. While it blocked is what was left in those in which this limit turned somebody away, and asked for is at most what of that they wanted: who asks
        again without saying that it is the same request counts again.
      </p>
    </section>
  );
}

/** Where a limit is not known, or there is no pool any more, all of a side are 0. */
const unlimited = (side: CapacityRow["after"]): boolean => compare(side.limit, 0) === 0;

/** Limits of both sides; what nobody limits is said. */
function LimitSides({ row: { before, after, unit } }: { row: CapacityRow }) {
  if (unlimited(before) && unlimited(after)) return <span>limit not known</span>;
  const said = (side: CapacityRow["after"]): string => (unlimited(side) ? "no limit" : exactAmount(side.limit, unit));
  return <Sides before={said(before)} after={said(after)} />;
}

/** What has a meaning only beside a limit. */
function Beside({ row, of }: { row: CapacityRow; of: "used" | "unused" | "withheld" | "wanted" }) {
  const { before, after, unit } = row;
  if (unlimited(before) && unlimited(after)) return null;
  const said = (side: CapacityRow["after"]): string => (unlimited(side) ? "not compared" : exactly(side[of], unit));
  return <Sides before={said(before)} after={said(after)} />;
}

/** How much of the limit would have been used; the mark is how much was. */
function PartUsed({ row: { before, after } }: { row: CapacityRow }) {
  if (unlimited(after)) return null;
  const was = unlimited(before) ? null : percentOf(before.used, before.limit, 2);
  return (
    <span class="trial-shift">
      <span>{portion(after.used, after.limit, "the limit")}</span>
      <Meter value={percentOf(after.used, after.limit, 2) ?? 0} tone="good" {...(was === null ? {} : { beside: was })} />
    </span>
  );
}

const capacityColumns: readonly Column<CapacityRow>[] = [
  { id: "what", title: "Of", cell: (row) => dimensionTitle(row) },
  { id: "windows", title: "Windows", right: true, cell: (row) => <BothCounts before={row.before.buckets} after={row.after.buckets} /> },
  { id: "limit", title: "Limit", right: true, cell: (row) => <LimitSides row={row} /> },
  { id: "used", title: "Used", right: true, cell: (row) => <Beside row={row} of="used" /> },
  { id: "part", title: "Of the limit", right: true, cell: (row) => <PartUsed row={row} /> },
  { id: "unused", title: "Left unused", right: true, cell: (row) => <Beside row={row} of="unused" /> },
  { id: "withheld", title: "While it blocked", right: true, cell: (row) => <Beside row={row} of="withheld" /> },
  { id: "wanted", title: "Asked for", right: true, cell: (row) => <Beside row={row} of="wanted" /> },
];
