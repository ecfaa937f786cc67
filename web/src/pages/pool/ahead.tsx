import { useMemo } from "preact/hooks";
import type { Unit, Usage, UsedDimension } from "../../api/types";
import { accountCourse, type Course, rollingCourse, type Track } from "../../model/course";
import { type Lasting, limits, type Projection, projection } from "../../model/lasting";
import { Chart, type Line, type Reading } from "../../parts/chart";
import { useSession } from "../../state/session";
import { amount, short } from "../../words/amount";
import { percentOf } from "../../words/decimal";
import { dimensionName, windowNoun } from "../../words/terms";
import { instant, moment } from "../../words/time";
import type { CountedProps } from "./index";
import { tickAmount } from "./lines";

/** Where the rate leads: of a provider's window the account that is nearest to its end, of all else the pool. */
export function Ahead({ pool, usage, dimension: d }: CountedProps) {
  const minute = useSession().store.minute.value;
  if (d.unit !== "percent") return <OfPool usage={usage} d={d} />;
  const rows = limits([{ pool, usage }], minute).flatMap((row) => (row.kind === "account" ? [row.of] : []));
  const first = rows.find((row) => row.window === d.window && row.scope === undefined);
  return first ? <OfAccount of={first} /> : <Nothing text="No data: the provider has not told of this window." />;
}

function Nothing({ text }: { text: string }) {
  return <p class="chart-place soft">{text}</p>;
}

function OfPool({ usage, d }: { usage: Usage; d: UsedDimension }) {
  const at = instant(usage.asOf.time);
  const p = projection(d, at);
  const course = useMemo(() => rollingCourse(d, p, at), [d, at]);
  if (!course) return <Nothing text={whyNot[p.kind] ?? "No data: there is no rate to go on with."} />;
  const readings = [line("used", "Used now", amount(d.consumedTotal, d.unit)), line("ahead", thenNames[p.kind] ?? "Then", amount(course.then, d.unit)), line("limit", "The limit", amount(d.limit, d.unit))];
  return <Drawn course={course} unit={d.unit} label={`Projection of ${dimensionName(d)}`} title={`From now until ${moment(course.end, at)}`} readings={readings} />;
}

const whyNot: Partial<Record<Projection["kind"], string>> = { "used-up": "Nothing is left of the limit.", "no-limit": "The limit is not known." };

const thenNames: Partial<Record<Projection["kind"], string>> = { lasts: "A whole window at this rate", reset: "Then, when it starts anew", ends: "Then, when it is used up", "may-end": "Then, unless use grows old before" };

function OfAccount({ of }: { of: Lasting }) {
  const course = useMemo(() => accountCourse(of), [of]);
  const name = `${of.connectionId}, ${windowNoun(of.window)}`;
  if (!course) return <Nothing text={of.outcome.kind === "gone" ? `${name}: nothing is left.` : `${name}: too little of it is over to say.`} />;
  const end = of.outcome.kind === "short" ? "used up" : "starts anew";
  const readings = [
    line("used", "Used now", amount(of.used, "percent")),
    line("even", "Used evenly, it would be", amount(percentOf(of.elapsed, 100, 1), "percent")),
    line("ahead", `At ${moment(course.end, instant(of.observedAt))}, when it is ${end === "used up" ? end : "given anew"}`, amount(course.then, "percent")),
  ];
  return <Drawn course={course} unit="percent" label={`Course of ${name}`} title={`${name}, at its average pace`} readings={readings} />;
}

const hues: Record<Track["id"], Line["hue"]> = { used: "total", ahead: "total", even: "others", limit: "others" };

const dashed = (id: Track["id"]): boolean => id === "ahead" || id === "even";

const line = (id: Track["id"], name: string, text: string): Reading => ({ id, name, hue: hues[id], dashed: dashed(id), text });

interface DrawnProps {
  course: Course;
  unit: Unit;
  label: string;
  title: string;
  readings: readonly Reading[];
}

function Drawn({ course, unit, label, title, readings }: DrawnProps) {
  const lines = useMemo(() => course.tracks.map(({ id, values }): Line => ({ id, values, hue: hues[id], dashed: dashed(id) })), [course]);
  return <Chart label={label} times={course.times} lines={lines} tick={(value) => short(tickAmount(value), unit)} title={() => title} readings={() => readings} />;
}
