/** Amounts, as people read them. */
import type { Amount } from "../api/json";
import type { Unit } from "../api/types";
import { compare, cut, decimal, digits, grouped, roughly } from "./decimal";

/** What is said where the API says null. */
export const notKnown = "not known";

const minusSign = "−";

/** A space at which no line breaks. */
export const nbsp = "\u00a0";

/** How many decimals are shown: more would be noise beside a bar. */
const places: Record<Unit, number> = { requests: 1, tokens: 0, usd: 2, percent: 1 };

/** The amount with every digit the API sent: "1,240.125", "$3.204". */
export function exactly(amount: Amount | null, unit: Unit): string {
  return amount === null ? notKnown : signed(digits(decimal(amount)), unit);
}

/**
 * The amount without the word of its unit: "1,240", "$3.20", "12.5". Digits
 * beyond what is useful are cut off; what would become 0 by that is "under 0.1".
 */
export function figure(amount: Amount | null, unit: Unit): string {
  if (amount === null) return notKnown;
  const n = places[unit];
  const shown = cut(amount, n);
  if (shown !== "0" && shown !== "-0") return signed(shown, unit);
  const sign = compare(amount, 0);
  if (sign === 0) return signed("0", unit);
  const least = signed(digits({ units: 1n, scale: n }), unit);
  return sign > 0 ? `under${nbsp}${least}` : `over${nbsp}${minusSign}${least}`;
}

/** The amount with the word of its unit: "1 request", "1,240 tokens", "$3.20", "12.5 points". */
export function amount(a: Amount | null, unit: Unit): string {
  return a === null ? notKnown : withWord(figure(a, unit), unit);
}

/** As amount, with every digit. */
export function exactAmount(a: Amount | null, unit: Unit): string {
  return a === null ? notKnown : withWord(exactly(a, unit), unit);
}

const nouns: Record<Unit, [one: string, many: string]> = {
  requests: ["request", "requests"],
  tokens: ["token", "tokens"],
  usd: ["", ""],
  percent: ["point", "points"],
};

/** The noun is of the figure that is read: 1.04 points are "1 point", and half a token is "under 1 token". */
function withWord(text: string, unit: Unit): string {
  const noun = nouns[unit][text.split(nbsp).at(-1) === "1" ? 0 : 1];
  return noun ? text + nbsp + noun : text;
}

const steps: readonly (readonly [zeros: number, letter: string])[] = [
  [12, "T"],
  [9, "B"],
  [6, "M"],
];

/** As figure, but a million and more in three digits: "48.2 M". For narrow places; say all of it nearby. */
export function short(amount: Amount | null, unit: Unit): string {
  if (amount === null) return notKnown;
  const size = Math.abs(roughly(amount));
  const step = steps.find(([zeros]) => size >= 10 ** zeros);
  if (!step) return figure(amount, unit);
  const d = decimal(amount);
  const of = { units: d.units, scale: d.scale + step[0] };
  const whole = digits({ units: of.units / 10n ** BigInt(of.scale), scale: 0 }).replace("-", "").length;
  return `${signed(cut(digits(of), Math.max(0, 3 - whole)), unit)}${nbsp}${step[1]}`;
}

/** Groups the digits, and puts sign and currency before them. Money has two decimals at least. */
function signed(text: string, unit: Unit): string {
  const negative = text.startsWith("-");
  let number = grouped(negative ? text.slice(1) : text);
  if (unit === "usd") {
    const [whole, fraction = ""] = number.split(".");
    number = fraction || whole !== "0" ? `$${whole}.${fraction.padEnd(2, "0")}` : "$0";
  }
  return negative ? minusSign + number : number;
}

/** How many of something: "1 key", "3 keys". */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${grouped(String(n))}${nbsp}${n === 1 ? one : many}`;
}
