import { useMemo, useState } from "preact/hooks";
import type { History, Unit } from "../../api/types";
import { type Part, partsOf, type Parts, stacked } from "../../model/series";
import { Chart, type Line, type Reading } from "../../parts/chart";
import { Choice } from "../../parts/field";
import { ErrorNotice } from "../../parts/notice";
import { useAsked } from "../../state/asked";
import { useSession } from "../../state/session";
import { amount, short } from "../../words/amount";
import { compare, sum } from "../../words/decimal";
import { day, duration, hour, minute, moment } from "../../words/time";
import type { CountedProps } from "./index";
import { chartUnit, hueOf, nameOf, tickAmount, totalReading, unitNames } from "./lines";
import { Section } from "./shares";

/** How far back, and how much time a bar has: some hundred of them can be told apart. */
const ranges = {
  "1h": [hour, minute],
  "6h": [6 * hour, 5 * minute],
  "24h": [day, 15 * minute],
  "7d": [7 * day, 2 * hour],
  "30d": [30 * day, 6 * hour],
} as const;
type Range = keyof typeof ranges;

const rangeNames: Record<Range, string> = { "1h": "hour", "6h": "6 hours", "24h": "day", "7d": "week", "30d": "30 days" };

/** Who used how much when. */
export function Past({ pool, dimension: d, hues }: CountedProps) {
  const [range, setRange] = useState<Range>("24h");
  const unit = chartUnit(d.unit);
  const { api, store } = useSession();
  const [back, step] = ranges[range];
  const { value: history, error } = useAsked(
    `${pool.id} ${pool.revision} ${range}`,
    (hangUp) => api.pools.history(pool.id, { from: String(store.now.peek() - back), step }, hangUp),
    minute,
  );
  return (
    <Section title="History" lead={`${unitNames[unit]} by time and key${unit === d.unit ? "" : ": of points, only the provider tells"}.`}>
      <Choice
        label="How far back"
        value={range}
        options={(Object.keys(ranges) as Range[]).map((value) => ({ value, text: `Last ${rangeNames[value]}` }))}
        onChange={setRange}
      />
      {error && <ErrorNotice title="The history could not be read" error={error} />}
      <div class="card chart-card">{history ? <Used history={history} unit={unit} hues={hues} /> : <div class="chart-place" />}</div>
    </Section>
  );
}

interface UsedProps {
  history: History;
  unit: Unit;
  hues: ReadonlyMap<string, number>;
}

function Used({ history, unit, hues }: UsedProps) {
  const parts = useMemo(() => partsOf(history, unit, [...hues.keys()]), [history, unit]);
  const lines = useMemo(() => layers(parts, hues), [parts]);
  const last = parts.times.at(-1) ?? 0;
  return (
    <>
      <Chart
        label={`${unitNames[unit]} used, by time and key`}
        times={parts.times}
        lines={lines}
        steps={history.stepMs}
        tick={(value) => short(tickAmount(value), unit)}
        title={(place) => (place === null ? "All of this time" : `From ${moment(parts.times[place] ?? 0, last)}, ${duration(history.stepMs)}`)}
        readings={(place) => usedReadings(parts, unit, hues, place)}
      />
      {compare(parts.adjusted, 0) !== 0 && <p class="soft">Corrections changed this by {amount(parts.adjusted, unit)}: they are in no key's figures.</p>}
    </>
  );
}

/** One area for each key. The highest edge is painted first, and the lower ones cover it. */
function layers({ parts }: Parts, hues: ReadonlyMap<string, number>): Line[] {
  const edges = stacked(parts);
  return parts.map((part, place): Line => ({ id: part.id, hue: hueOf(part.id, hues), values: edges[place] ?? [], filled: true })).reverse();
}

function usedReadings({ parts, total }: Parts, unit: Unit, hues: ReadonlyMap<string, number>, place: number | null): Reading[] {
  const text = (values: Part["values"]): string => amount(place === null ? sum(values) : (values[place] ?? 0), unit);
  return [
    totalReading(text(total)),
    ...parts.map((part): Reading => ({ id: part.id, name: nameOf(part.id), hue: hueOf(part.id, hues), text: text(part.values) })),
  ];
}
