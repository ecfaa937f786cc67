import type { UsedDimension } from "../../api/types";
import { bar, givenBack, type Mark, type Segment, unallocated, unattributed } from "../../model/bar";
import { projection } from "../../model/lasting";
import { Bar } from "../../parts/bar";
import { Amount, Percent, When } from "../../parts/figures";
import { useSession } from "../../state/session";
import { Glyph } from "./legend";
import { amount } from "../../words/amount";
import { compare, minus, percentOf } from "../../words/decimal";
import { rollingWords } from "../../words/outcome";
import { dimensionTitle } from "../../words/terms";

interface Props {
  dimension: UsedDimension;
  hues: ReadonlyMap<string, number>;
  /** The instant of its numbers. */
  at: number;
}

const names: Record<Exclude<Segment["kind"], "key"> | Mark["kind"], string> = {
  others: "Keys without a share of their own",
  unattributed: "Used by no key",
  held: "Requests under way",
  kept: "Kept for keys that have not had their pace",
  unallocated: "Nobody's share",
  threshold: "Shares count from here on",
  limit: "The limit",
};

/** "ann: 400 requests". */
function describe(part: Segment | Mark, d: UsedDimension): string {
  const name = part.kind === "key" ? part.id : names[part.kind];
  return `${name}: ${amount(part.amount, d.unit)}`;
}

/** "ann: share of 500 requests". */
function describeShare(share: Segment, d: UsedDimension): string {
  if (share.kind === "unallocated") return `${names.unallocated}: ${amount(share.amount, d.unit)}`;
  return `${share.kind === "key" ? share.id : names.others}: share of ${amount(share.amount, d.unit)}`;
}

/** How one dimension of a pool stands: a bar, and beside it in figures what the bar shows. */
export function DimensionUse({ dimension: d, hues, at }: Props) {
  const model = bar(d, hues);
  const parts = [...model.segments, ...model.marks].map((part) => describe(part, d));
  const said = [...parts, ...model.shares.map((share) => describeShare(share, d))].join("; ");
  return (
    <section class="dimension">
      <div class="dimension-head">
        <h3>{dimensionTitle(d)}</h3>
        <p>
          <Amount of={d.consumedTotal} unit={d.unit} as="short" />
          <span class="faint">
            {d.limit === null ? " used" : " of "}
            {d.limit !== null && <Amount of={d.limit} unit={d.unit} as={d.unit === "percent" ? "full" : "short"} />}
          </span>
        </p>
      </div>
      <Bar model={model} label={`${dimensionTitle(d)}. ${said || "Nothing is used."}`} describe={(part) => describe(part, d)} describeShare={(share) => describeShare(share, d)} />
      <p class="dimension-foot">
        <span class={model.over ? "bad-text" : "soft"}>
          <Percent value={d.usedPercent} of="the limit" />
        </span>
        <Lasts d={d} at={at} />
        <Reset d={d} />
      </p>
      <Marks d={d} />
    </section>
  );
}

/** What else is in the bar, in figures. */
function Marks({ d }: { d: UsedDimension }) {
  const rest = unattributed(d);
  const nobodys = unallocated(d);
  const back = givenBack(d);
  // Parts of keys are cut off below a millionth of a point: what that leaves is nobody's, and nobody's concern.
  const worth = compare(percentOf(rest, d.consumedTotal, 1) ?? 0, 0) > 0;
  return (
    <ul class="dimension-marks">
      {d.strictAt !== null && (
        <li>
          <Glyph of="threshold" /> shares count from {amount(d.strictAt, d.unit)}
        </li>
      )}
      {compare(back, 0) < 0 && <li>{amount(minus(0, back), d.unit)} given back by corrections, so the parts of keys are drawn shorter</li>}
      {worth && (
        <li>
          <Glyph of="unattributed" /> {amount(rest, d.unit)} used by no key
        </li>
      )}
      {compare(nobodys, 0) > 0 && (
        <li>
          <Glyph of="unallocated" /> {amount(nobodys, d.unit)} are nobody's share
        </li>
      )}
      {compare(d.heldTotal, 0) > 0 && (
        <li>
          <Glyph of="held" /> {amount(d.heldTotal, d.unit)} under way
        </li>
      )}
      {compare(d.kept ?? 0, 0) > 0 && (
        <li>
          <Glyph of="kept" /> {amount(d.kept ?? 0, d.unit)} kept for keys <span class="faint">until <When at={d.keptUntil ?? null} as="at" /></span>
        </li>
      )}
    </ul>
  );
}

/** What the rate of the last hour leads to, when there is one. */
function Lasts({ d, at }: { d: UsedDimension; at: number }) {
  const minute = useSession().store.minute.value;
  const p = projection(d, at);
  if (p.kind === "no-data" || p.kind === "no-limit") return null;
  const said = rollingWords(p, minute);
  return <span class={said.tone === "good" ? "faint" : `${said.tone}-text`}>{said.text}</span>;
}

/** When the provider starts anew: the first of the connections that do. */
function Reset({ d }: { d: UsedDimension }) {
  const first = d.perConnection.map((c) => c.resetAt).filter((at) => at !== null).sort()[0];
  if (first === undefined) return null;
  return (
    <span class="faint">
      starts anew <When at={first} as="until" />
    </span>
  );
}
