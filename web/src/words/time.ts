/** Lengths of time and instants, as people read them. */
import { nbsp } from "./amount";

export const second = 1000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

const lengths: readonly (readonly [ms: number, word: string])[] = [
  [day, "d"],
  [hour, "h"],
  [minute, "min"],
  [second, "s"],
];

/**
 * A length in its two largest units: "2 h 10 min", "4 min", "250 ms". What is
 * left is cut off: "lasts 2 h" is then never said too early.
 */
export function duration(ms: number): string {
  if (ms < 0) return `−${duration(-ms)}`;
  const first = lengths.findIndex(([unit]) => ms >= unit);
  if (first < 0) return `${Math.floor(ms)}${nbsp}ms`;
  const parts: string[] = [];
  let left = ms;
  for (const [unit, word] of lengths.slice(first, first + 2)) {
    const n = Math.floor(left / unit);
    left -= n * unit;
    if (n > 0) parts.push(`${n}${nbsp}${word}`);
  }
  return parts.join(" ");
}

/** A length in its largest unit alone: "2 h". */
export function about(ms: number): string {
  return duration(ms).split(" ")[0] ?? "";
}

/** "in 4 min 10 s", "4 min ago", "now". What is to come is counted down, what is past is not counted up. */
export function relative(at: number, now: number): string {
  const ms = at - now;
  if (Math.abs(ms) < second) return "now";
  return ms > 0 ? `in ${duration(ms)}` : `${about(-ms)} ago`;
}

/** Epoch milliseconds of a time of the API. */
export function instant(time: string): number {
  return Date.parse(time);
}

type Zone = string | undefined;

const locale = "en-GB";

/** Making a formatter takes a hundred times as long as using it, and there are only a few. */
const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(of: string, zone: Zone, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = [of, zone, ...Object.entries(options).flat()].join();
  const known = formatters.get(key) ?? new Intl.DateTimeFormat(of, { timeZone: zone, ...options });
  formatters.set(key, known);
  return known;
}

function shown(at: number, zone: Zone, options: Intl.DateTimeFormatOptions): string {
  return formatter(locale, zone, { hourCycle: "h23", ...options }).format(at);
}

/** "14:05:09" in the zone of the reader. */
export function clock(at: number, zone?: Zone): string {
  return shown(at, zone, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

const shortClock = (at: number, zone: Zone): string => shown(at, zone, { hour: "2-digit", minute: "2-digit" });

/** How many midnights of the reader's zone lie between two instants. */
function daysBetween(at: number, now: number, zone: Zone): number {
  const number = (t: number): number => {
    const [y = 0, m = 1, d = 1] = formatter("sv-SE", zone, {}).format(t).split("-").map(Number);
    return Date.UTC(y, m - 1, d) / day;
  };
  return number(at) - number(now);
}

const nearby = new Map([
  [-1, "yesterday "],
  [0, ""],
  [1, "tomorrow "],
]);

/** "14:05", "tomorrow 09:00", "Thu 14:05", "5 Oct 14:05", "5 Oct 2025 14:05": as much as tells which day. */
export function moment(at: number, now: number, zone?: Zone): string {
  const days = daysBetween(at, now, zone);
  const name = nearby.get(days);
  if (name !== undefined) return name + shortClock(at, zone);
  if (days > 0 && days < 7) return `${shown(at, zone, { weekday: "short" })} ${shortClock(at, zone)}`;
  const sameYear = shown(at, zone, { year: "numeric" }) === shown(now, zone, { year: "numeric" });
  const date = shown(at, zone, { day: "numeric", month: "short", ...(sameYear ? {} : { year: "numeric" }) });
  return `${date} ${shortClock(at, zone)}`;
}

/** As moment, with seconds: "14:05:09", "yesterday 14:05:09". */
export function exactMoment(at: number, now: number, zone?: Zone): string {
  const short = shortClock(at, zone);
  return moment(at, now, zone).slice(0, -short.length) + clock(at, zone);
}

/** "14:05" under an axis that spans up to two days, else "21 Sep". */
export function axisInstant(at: number, span: number, zone?: Zone): string {
  return span <= 2 * day ? shortClock(at, zone) : shown(at, zone, { day: "numeric", month: "short" });
}

/** Everything about an instant, for where there is room: "21 September 2026, 14:00:00.000 UTC". */
export function fullInstant(at: number): string {
  const date = shown(at, "UTC", { day: "numeric", month: "long", year: "numeric" });
  return `${date}, ${new Date(at).toISOString().slice(11, 23)} UTC`;
}

/** What the zone of the reader is called at an instant: "UTC", "CET", "GMT+5:30". */
export function zoneName(at: number, zone?: Zone): string {
  const parts = formatter(locale, zone, { timeZoneName: "short" }).formatToParts(at);
  return parts.find((part) => part.type === "timeZoneName")?.value ?? "";
}

/** "in 2 h 10 min (16:15)": how long from now, and when. */
export function until(at: number, now: number, zone?: Zone): string {
  return `${relative(at, now)} (${moment(at, now, zone)})`;
}
