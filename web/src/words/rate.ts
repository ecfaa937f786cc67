/** How fast something is used, in words. */
import type { Amount } from "../api/json";
import type { Unit } from "../api/types";
import { amount } from "./amount";
import { compare, decimal, digits } from "./decimal";

/** What an amount per second is per minute, exactly: few use as much as one request in a second. */
export function perMinute(perSecond: Amount): string {
  const { units, scale } = decimal(perSecond);
  return digits({ units: units * 60n, scale });
}

/** "12.4 requests per minute"; "no data" for 0, which is what the engine says before there are two minutes with use. */
export function rateWords(perSecond: Amount, unit: Unit): string {
  return compare(perSecond, 0) === 0 ? "no data" : `${amount(perMinute(perSecond), unit)} per minute`;
}
