/** The units and windows there are, in the order in which they are offered. */
import type { Unit, Window } from "../api/types";

export const units: readonly Unit[] = ["requests", "tokens", "usd", "percent"];
export const windows: readonly Window[] = ["hourly", "5h", "daily", "weekly", "monthly"];

const titles: Record<Unit, string> = {
  requests: "requests",
  tokens: "tokens",
  usd: "US dollars",
  percent: "points of the provider's 100",
};

/** "requests", "US dollars", to be chosen from a list. */
export function unitTitle(unit: Unit): string {
  return titles[unit];
}
