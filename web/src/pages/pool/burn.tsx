import { useMemo } from "preact/hooks";
import type { Amount } from "../../api/json";
import type { History, Usage, UsedDimension } from "../../api/types";
import { lastingOf, projection } from "../../model/lasting";
import { averages, burnSpan, type Part, partsOf, type Parts } from "../../model/series";
import { Chart, type Line, type Reading } from "../../parts/chart";
import { useAsked } from "../../state/asked";
import { useSession } from "../../state/session";
import { amount, figure, short } from "../../words/amount";
import { compare, sum } from "../../words/decimal";
import { outcomeWords, projectionWords } from "../../words/outcome";
import { perMinute, rateWords } from "../../words/rate";
import { instant, minute, moment } from "../../words/time";
import { unitTitle } from "../../words/units";
import { Ahead } from "./ahead";
import type { CountedProps } from "./index";
import { chartUnit, hueOf, nameOf, tickAmount, totalId, totalReading } from "./lines";
import { Section } from "./shares";

/** How fast each key and all together use it, and what that leads to. */
export function BurnRate(props: CountedProps) {
  const { pool, usage, dimension: d, hues } = props;
  const { api, store } = useSession();
  const history = useAsked(
    `${pool.id} ${pool.revision}`,
    (hangUp) => {
      const { from, to } = burnSpan(store.now.peek());
      return api.pools.history(pool.id, { from: String(from), to: String(to), step: minute }, hangUp);
    },
    minute,
  ).value;
  return (
    <Section title="Burn rate" lead={`How fast ${unitTitle(chartUnit(d.unit))} are used: a moving average over the complete minutes of the last hour.`}>
      <BurnSaid usage={usage} d={d} />
      <div class="burn">
        <div class="card chart-card">
          <h3>How fast</h3>
          {history ? <Rates history={history} usage={usage} d={d} hues={hues} /> : <div class="chart-place" />}
        </div>
        <div class="card chart-card">
          <h3>What that leads to</h3>
          <Ahead {...props} />
        </div>
      </div>
    </Section>
  );
}

/** Counts down by itself, so that the charts beside need not be drawn every second. */
function BurnSaid({ usage, d }: { usage: Usage; d: UsedDimension }) {
  const now = useSession().store.now.value;
  const rate = rateOf(usage, d);
  const known = compare(rate, 0) > 0;
  const said = d.unit === "percent" ? paceWords(usage, d, now) : projectionWords(projection(d, instant(usage.asOf.time)), d, now);
  return <p class="burn-said">{known ? `Now ${rateWords(rate, chartUnit(d.unit))}. ${said}` : said}</p>;
}

/** The rate in the unit of the chart: of points there is none by the minute, and the pool has one in tokens. */
const rateOf = (usage: Usage, d: UsedDimension): Amount => (d.unit === "percent" ? usage.burnRate.tokensPerSecond : d.burnRate.perSecond);

const inSentence = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** Whether each account's window lasts, at its average pace until now. */
function paceWords(usage: Usage, d: UsedDimension, now: number): string {
  const windows = usage.signals.filter((s) => s.window === d.window).map((s) => lastingOf(usage.poolId, s, now)).filter((row) => row !== null);
  const told = windows.map((row) => `${row.connectionId} ${inSentence(outcomeWords(row.outcome, row.resetAt, now).text)}`);
  return told.length === 0 ? "No data: the provider has not told of this window." : `At its average pace until now, ${told.join("; ")}.`;
}

interface RatesProps {
  history: History;
  usage: Usage;
  d: UsedDimension;
  hues: ReadonlyMap<string, number>;
}

function Rates({ history, usage, d, hues }: RatesProps) {
  const unit = chartUnit(d.unit);
  const parts = useMemo(() => partsOf(history, unit, [...hues.keys()]), [history, unit]);
  const lines = useMemo(() => ratesOf(parts, hues), [parts]);
  if (lines.every((line) => line.values.every((value) => value === null))) {
    return <p class="chart-place soft">No data: an average takes two minutes with use in the last hour.</p>;
  }
  return (
    <Chart
      label={`Burn rate per minute, ${unitTitle(unit)}`}
      times={parts.times}
      lines={lines}
      tick={(value) => short(tickAmount(value), unit)}
      title={(place) => (place === null ? (unit === d.unit ? `Moving average now, ${unitTitle(unit)} per minute` : "Used in this hour") : `Used in the minute of ${moment(parts.times[place] ?? 0, parts.times.at(-1) ?? 0)}`)}
      readings={(place) => rateReadings(parts, usage, d, hues, place)}
    />
  );
}

/** The lines of the keys, and above all that of the total. */
function ratesOf({ parts, total }: Parts, hues: ReadonlyMap<string, number>): Line[] {
  const line = (part: Part): Line => ({ id: part.id, hue: hueOf(part.id, hues), values: averages(part.values) });
  return [...parts.map(line), { id: totalId, hue: "total", values: averages(total) }];
}

/** What the engine says now; of a minute, what was used in it. */
function rateReadings({ parts, total }: Parts, usage: Usage, d: UsedDimension, hues: ReadonlyMap<string, number>, place: number | null): Reading[] {
  const unit = chartUnit(d.unit);
  // In tokens the engine has a rate of the pool alone, so of all it is told what they used.
  const own = unit === d.unit;
  const rates = new Map(d.perKey.map((key) => [key.apiKeyId, key.burnRate.perSecond]));
  const text = (values: Part["values"], rate: Amount | undefined): string => {
    if (place !== null) return amount(values[place] ?? 0, unit);
    if (!own) return amount(sum(values), unit);
    // Above is what the figures are: what is used in an hour stands under no rate.
    if (rate === undefined) return "no rate is told";
    return compare(rate, 0) === 0 ? "no data" : figure(perMinute(rate), unit);
  };
  return [totalReading(text(total, rateOf(usage, d))), ...parts.map(({ id, values }) => ({ id, name: nameOf(id), hue: hueOf(id, hues), text: text(values, rates.get(id)) }))];
}
