import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { placeAt } from "../model/series";
import { axisInstant } from "../words/time";
import { Swatch } from "./bar";
import "./chart.css";

export interface Line {
  readonly id: string;
  /** A value for each time, null where there is none. For heights alone. */
  readonly values: readonly (number | null)[];
  /** The number of its colour; "others" for who has none, "total" for what is above all. */
  readonly hue: number | "others" | "total";
  readonly filled?: boolean;
  readonly dashed?: boolean;
}

/** What stands beside a chart: the figures that it draws. */
export interface Reading {
  readonly id: string;
  readonly name: string;
  readonly hue: Line["hue"];
  readonly dashed?: boolean;
  readonly text: string;
}

interface Props {
  /** What it shows, for who does not see it. */
  label: string;
  /** In epoch milliseconds, in order. */
  times: readonly number[];
  /** In the order of painting: what comes later covers what came before. */
  lines: readonly Line[];
  /** Each value holds until the next time, the last one for as long as this, in milliseconds. */
  steps?: number;
  tick: (value: number) => string;
  /** Which time the readings are of; null while the pointer is elsewhere. */
  title: (place: number | null) => string;
  readings: (place: number | null) => readonly Reading[];
}

const height = 220;

/** A chart over time, with its figures below: those of the time that the pointer or the arrow keys are at. */
export function Chart(props: Props) {
  const [place, setPlace] = useState<number | null>(null);
  const { frame, plot } = usePlot(props, setPlace);
  const last = props.times.length - 1;
  const readings = props.readings(place);
  const go = (event: KeyboardEvent): void => {
    const to = placeAfter(event.key, place, last);
    const time = props.times[to];
    if (time === undefined || !plot.current) return;
    event.preventDefault();
    const { left } = cursorAt(plot.current, time);
    plot.current.setCursor({ left, top: 0 });
  };
  return (
    <div class="chart">
      <div
        class="chart-plot"
        ref={frame}
        tabIndex={0}
        role="slider"
        aria-label={props.label}
        aria-valuemin={0}
        aria-valuemax={Math.max(last, 0)}
        aria-valuenow={place ?? Math.max(last, 0)}
        aria-valuetext={[props.title(place), ...readings.map(({ name, text }) => `${name} ${text}`)].join(", ")}
        onKeyDown={go}
        onBlur={() => plot.current?.setCursor({ left: -10, top: -10 })}
      />
      <p class="chart-title">{props.title(place)}</p>
      <ul class="chart-readings">
        {readings.map(({ id, name, hue, dashed, text }) => (
          <li key={id}>
            {typeof hue === "number" ? <Swatch hue={hue} /> : <span class={`swatch ${hue}${dashed ? " dashed" : ""}`} aria-hidden="true" />}
            <span class="chart-name">{name}</span>
            <span class="chart-figure">{text}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Which place a key leads to; −1 when it leads nowhere. */
export function placeAfter(key: string, place: number | null, last: number): number {
  const at = place ?? last;
  const places: Record<string, number> = {
    ArrowLeft: place === null ? last : Math.max(at - 1, 0), ArrowRight: Math.min(at + 1, last), Home: 0, End: last,
  };
  return places[key] ?? -1;
}

/** A little behind the time, so that no rounding to pixels puts it before. */
const cursorAt = (u: uPlot, time: number): { left: number } => ({ left: Math.min(u.valToPos(time, "x") + 1, u.over.clientWidth - 1) });

/** Keeps a plot in the frame, of its width, with its data, in the colours of the page. */
function usePlot(props: Props, onPlace: (place: number | null) => void) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const newest = useRef(props);
  newest.current = props;
  const look = useLook();
  const shape = JSON.stringify([props.lines.map(({ id, hue, filled, dashed }) => [id, hue, filled, dashed]), props.steps !== undefined, look]);
  useEffect(() => {
    const within = frame.current;
    if (!within) return;
    const made = new uPlot(options(newest, within, onPlace), dataOf(newest.current), within);
    const sized = new ResizeObserver(() => made.setSize({ width: within.clientWidth, height }));
    sized.observe(within);
    plot.current = made;
    return () => {
      sized.disconnect();
      made.destroy();
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(dataOf(newest.current)), [props.times, props.lines]);
  return { frame, plot };
}

/** Another number whenever the page became light or dark: a canvas does not follow by itself. */
function useLook(): number {
  const [look, setLook] = useState(0);
  useEffect(() => {
    const changed = (): void => setLook((n) => n + 1);
    const system = matchMedia("(prefers-color-scheme: dark)");
    const chosen = new MutationObserver(changed);
    system.addEventListener("change", changed);
    chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      system.removeEventListener("change", changed);
      chosen.disconnect();
    };
  }, []);
  return look;
}

/** A step is drawn up to the next time, so the last one needs another behind it. */
function dataOf({ times, lines, steps }: Props): uPlot.AlignedData {
  const end = times.at(-1);
  if (steps === undefined || end === undefined) return [[...times], ...lines.map((line) => [...line.values])];
  return [[...times, end + steps], ...lines.map((line) => [...line.values, line.values.at(-1) ?? null])];
}

/** What the tokens are as colours: a canvas knows no names. */
function colours(within: HTMLElement): (token: string) => string {
  return (token) => {
    const probe = document.createElement("span");
    probe.style.color = `var(--${token})`;
    within.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
}

const tokenOf = (hue: Line["hue"]): string => (typeof hue === "number" ? `hue-${hue}` : { others: "others", total: "text" }[hue]);

const stepped = uPlot.paths.stepped?.({ align: 1 });

function seriesOf(line: Line, steps: boolean, colour: (token: string) => string): uPlot.Series {
  const stroke = colour(tokenOf(line.hue));
  return {
    stroke,
    width: line.filled ? 1 : 2,
    points: { show: false },
    ...(line.filled ? { fill: stroke } : {}),
    ...(line.dashed ? { dash: [6, 4] } : {}),
    ...(steps && stepped ? { paths: stepped } : {}),
  };
}

function options(props: { readonly current: Props }, within: HTMLElement, onPlace: (place: number | null) => void): uPlot.Options {
  const colour = colours(within);
  const { lines, steps } = props.current;
  const axis = { stroke: colour("text-faint"), font: `12px ${getComputedStyle(within).fontFamily}`, grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
  const times = (u: uPlot, at: number[]): string[] => axisTexts(at, (u.scales["x"]?.max ?? 0) - (u.scales["x"]?.min ?? 0));
  return {
    width: within.clientWidth,
    height,
    ms: 1,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] } },
    axes: [
      { ...axis, grid: { show: false }, values: times, space: 72, size: 28 },
      { ...axis, size: 64, values: (_, at) => at.map((value) => props.current.tick(value)) },
    ],
    series: [{}, ...lines.map((line) => seriesOf(line, steps !== undefined, colour))],
    hooks: { setCursor: [(u) => onPlace(pointed(u, props.current.times))] },
  };
}

/** What stands under the marks of an axis of that length: a day that has several marks is named at its first. */
export function axisTexts(at: readonly number[], span: number, zone?: string): string[] {
  const texts = at.map((time) => axisInstant(time, span, zone));
  return texts.map((text, place) => (text === texts[place - 1] ? "" : text));
}

/** The place that the pointer is at; null when it is elsewhere. */
function pointed(u: uPlot, times: readonly number[]): number | null {
  const left = u.cursor.left ?? -1;
  return left < 0 || times.length === 0 ? null : placeAt(times, u.posToVal(left, "x"));
}
