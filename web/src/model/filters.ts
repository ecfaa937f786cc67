/** What a list is narrowed to. It stands in the address, so that a narrowed list can be kept and sent. */
import type { DecisionFilter } from "../api/answers";
import type { Reason, RejectedFilter, Rejection } from "../api/types";
import { day, hour } from "../words/time";
import { instantOf } from "./timeline";

export type Filters = Readonly<Record<string, string>>;

/** The filters with one of them changed; what is empty is left out, so that the address says no more than there is. */
export function withFilter(filters: Filters, name: string, value: string): Record<string, string> {
  return Object.fromEntries(Object.entries({ ...filters, [name]: value }).filter(([, text]) => text !== ""));
}

/** The reasons by which one can narrow, the most asked for first. */
export const reasons: readonly Reason[] = [
  "fair-share", "global-saturated", "cap-absolute", "model-cap", "suspended", "capacity", "degraded", "ok", "no-allocation", "no-pool", "off",
];

export const verdicts = ["block", "would-block", "allow"] as const;

export const spans: Readonly<Record<string, number>> = { hour, day, week: 7 * day };

/** The span that has a beginning and an end of its own. */
export const between = "between";

const oneOf = <T extends string>(all: readonly T[], text: string | undefined): T | undefined => all.find((one) => one === text);

/** The question to the API for a list of decisions. What the address has wrong is as if it were not there. */
export function decisionFilter(filters: Filters, now: number): DecisionFilter {
  const { key, connection, pool, span } = filters;
  const decision = oneOf(verdicts, filters["decision"]);
  const reason = oneOf(reasons, filters["reason"]);
  const ms = span === undefined ? undefined : spans[span];
  const named = (name: "from" | "to"): string | undefined => {
    const at = span === between ? instantOf(filters[name]) : null;
    return at === null ? undefined : new Date(at).toISOString();
  };
  const from = ms === undefined ? named("from") : new Date(now - ms).toISOString();
  const to = named("to");
  return {
    ...(key ? { apiKeyId: key } : {}),
    ...(connection ? { connectionId: connection } : {}),
    ...(pool ? { poolId: pool } : {}),
    ...(decision ? { decision } : {}),
    ...(reason ? { reason } : {}),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
}

/** Rows of two lists as one, the first list's first; of those with one id the first list's is kept. */
export function merged<Row>(first: readonly Row[], then: readonly Row[], id: (row: Row) => string): Row[] {
  const known = new Set(first.map(id));
  return [...first, ...then.filter((row) => !known.has(id(row)))];
}

export const rejections: readonly Rejection[] = [
  "undecodable", "invalid", "id-conflict", "overflow", "unknown-subject", "ttl-not-allowed", "config-unmarked", "config-invalid",
];

/** The question to the API for rejected events. */
export function rejectedFilter({ reason: name, text = "" }: Filters): RejectedFilter {
  const reason = oneOf(rejections, name);
  return { ...(reason ? { reason } : {}), ...(text.trim() ? { text: text.trim() } : {}) };
}
