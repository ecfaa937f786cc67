/**
 * Exact decimal arithmetic on amounts, for what is shown. Nothing here rounds:
 * what does not fit is cut off, so 99.96 of 100 never reads as all of it, and
 * every digit on the screen is one that the API sent.
 */
import type { Amount } from "../api/json";

/** The number `units / 10^scale`. */
export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

const form = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Reads an amount. Throws when it is none: the API never sends such. */
export function decimal(amount: Amount): Decimal {
  const parts = form.exec(String(amount));
  if (!parts) throw new TypeError(`${String(amount)} is no amount`);
  const [, sign, whole = "", fraction = "", exponent = "0"] = parts;
  const units = BigInt(`${sign}${whole}${fraction}`);
  const scale = fraction.length - Number(exponent);
  return scale >= 0 ? { units, scale } : { units: units * ten(-scale), scale: 0 };
}

const ten = (n: number): bigint => 10n ** BigInt(n);

/** The units of both on the finer scale of the two. */
function aligned(a: Decimal, b: Decimal): [bigint, bigint, number] {
  const scale = Math.max(a.scale, b.scale);
  return [a.units * ten(scale - a.scale), b.units * ten(scale - b.scale), scale];
}

/** Below 0, 0 or above 0, as a is less than b, equal or more. */
export function compare(a: Amount, b: Amount): number {
  const [x, y] = aligned(decimal(a), decimal(b));
  return x < y ? -1 : x > y ? 1 : 0;
}

/** a − b. */
export function minus(a: Amount, b: Amount): string {
  const [x, y, scale] = aligned(decimal(a), decimal(b));
  return digits({ units: x - y, scale });
}

/** a × b. */
export function times(a: Amount, b: Amount): string {
  const [x, y] = [decimal(a), decimal(b)];
  return digits({ units: x.units * y.units, scale: x.scale + y.scale });
}

/** The sum of all, "0" of none. */
export function sum(amounts: readonly Amount[]): string {
  return digits(
    amounts.reduce<Decimal>(
      (total, amount) => {
        const [x, y, scale] = aligned(total, decimal(amount));
        return { units: x + y, scale };
      },
      { units: 0n, scale: 0 },
    ),
  );
}

/** All digits, no exponent, no zeros at the end of a fraction. */
export function digits({ units, scale }: Decimal): string {
  const text = (units < 0n ? -units : units).toString().padStart(scale + 1, "0");
  const fraction = text.slice(text.length - scale).replace(/0+$/, "");
  const whole = text.slice(0, text.length - scale);
  return `${units < 0n ? "-" : ""}${whole}${scale > 0 && fraction ? `.${fraction}` : ""}`;
}

/** The amount with at most so many decimals, the others cut off. */
export function cut(amount: Amount, places: number): string {
  const d = decimal(amount);
  return d.scale <= places ? digits(d) : digits({ units: d.units / ten(d.scale - places), scale: places });
}

/** part in percent of whole, all decimals beyond `places` cut off; null when whole is 0. */
export function percentOf(part: Amount, whole: Amount, places: number): string | null {
  const [x, y] = aligned(decimal(part), decimal(whole));
  return y === 0n ? null : digits({ units: (x * ten(places + 2)) / y, scale: places });
}

/** A comma between every three digits before the point. */
export function grouped(text: string): string {
  const [whole = "", fraction] = text.split(".");
  const parted = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return fraction === undefined ? parted : `${parted}.${fraction}`;
}

/** About so much, as a number: for lengths and angles alone, never for text. */
export function roughly(amount: Amount): number {
  return Number(amount);
}
