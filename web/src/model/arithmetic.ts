/**
 * The arithmetic of an answer, step by step. The figures are those that the
 * engine judged by; what is worked out here is only what stands between them, and
 * with all digits.
 */
import type { Estimate, ExplainedLine, Explanation, Judged } from "../api/answers";
import type { Amount } from "../api/json";
import type { Allocation, Pool, Unit, Window } from "../api/types";
import { exactAmount, exactly } from "../words/amount";
import { compare, decimal, digits, minus, percentOf, sum } from "../words/decimal";
import { percentFigure } from "../words/percent";
import { policyMeaning } from "../words/terms";
import type { Tone } from "../words/verdict";

export interface Step {
  readonly id: "limit" | "busy" | "share" | "key" | "cap";
  /** The question that the step answers. */
  readonly asks: string;
  /** "704 used + 0 held = 704, of 600". */
  readonly figures: string;
  readonly says: string;
  readonly tone: Tone;
  /** The answer follows from this step. */
  readonly decided: boolean;
}

/** The allocation that the key was judged by: its own, that of everyone else, or none. */
export function allocationOf(pool: Pool | null, apiKeyId: string): Allocation | null {
  const of = (id: string): Allocation | undefined => pool?.allocations.find((a) => a.apiKeyId === id);
  return of(apiKeyId) ?? of("*") ?? null;
}

/** The weights of all keys together, and never less than 100: what is missing is nobody's. */
export function parts(pool: Pool): string {
  const all = sum(pool.allocations.map((a) => a.weight));
  return compare(all, 100) < 0 ? "100" : all;
}

interface Line {
  readonly unit: Unit;
  readonly window: Window;
  readonly model?: string;
}

const same = (a: Line, b: Line): boolean => a.unit === b.unit && a.window === b.window && a.model === b.model;

/** Whether a dimension is the one that the answer names. */
export function decidedBy({ reply }: Explanation, line: Line): boolean {
  return reply.binding !== undefined && same(reply.binding, line);
}

/** What the request would use of a unit; "0" when it did not say. */
const estimated = (estimate: Estimate | undefined, unit: Unit): Amount => estimate?.[unit] ?? "0";

/** "704 used + 5 in flight + 10 asked for = 719": what is nothing is left out. */
function added(unit: Unit, used: Amount, held: Amount, asked: Amount): string {
  const terms = [`${exactly(used, unit)} used`];
  if (compare(held, 0) > 0) terms.push(`${exactly(held, unit)} in flight`);
  if (compare(asked, 0) > 0) terms.push(`${exactly(asked, unit)} asked for`);
  return terms.length === 1 ? `${terms[0]}` : `${terms.join(" + ")} = ${exactly(sum([used, held, asked]), unit)}`;
}

/** No more of an estimate counts than the whole limit: a large request must be able to run when all is free. */
const atMost = (asked: Amount, limit: Amount): Amount => (compare(asked, limit) > 0 ? limit : asked);

/** Used up, or passed by what is asked for. */
function passes(have: Amount, asked: Amount, limit: Amount): boolean {
  return compare(have, limit) >= 0 || compare(sum([have, asked]), limit) > 0;
}

function limitStep(e: Explanation, d: Judged): Step {
  const asks = "Is there room for everybody?";
  const decided = e.reply.reason === "global-saturated" && decidedBy(e, d);
  if (d.limit === null) {
    return { id: "limit", asks, figures: added(d.unit, d.consumedTotal, d.heldTotal, 0), says: "The limit is not known, so nothing is compared.", tone: "quiet", decided };
  }
  const asked = atMost(estimated(e.question.estimate, d.unit), d.limit);
  const have = sum([d.consumedTotal, d.heldTotal]);
  const full = passes(have, asked, d.limit) || decided;
  const left = minus(d.limit, sum([have, asked]));
  return {
    id: "limit", asks, decided,
    figures: `${added(d.unit, d.consumedTotal, d.heldTotal, asked)}, of ${exactAmount(d.limit, d.unit)}`,
    says: full ? fullBecause(d, have) : `Yes: ${exactAmount(left, d.unit)} would be left.`,
    tone: full ? "bad" : "good",
  };
}

function fullBecause(d: Judged, have: string): string {
  if (d.limit !== null && compare(have, d.limit) >= 0) return "No: the limit is used up.";
  if (d.providerUsed !== null && compare(d.providerUsed, 100) >= 0) return `No: the provider says that ${percentFigure(d.providerUsed)} of its window is used.`;
  return "No: the request does not fit into what is left.";
}

function busyStep(e: Explanation, d: Judged): Step {
  const asks = "Do shares count?";
  const threshold = percentFigure(percentOf(e.rules.settings.saturationThreshold.value, 1, 4) ?? "0");
  const used = d.limit === null ? null : percentOf(sum([d.consumedTotal, d.heldTotal]), d.limit, 4);
  const figures = [used === null ? "limit not known" : `${percentFigure(used)} of the limit is used`];
  if (d.providerUsed !== null) figures.push(`the provider says ${percentFigure(d.providerUsed)} of its window`);
  if (e.rules.pool?.rule !== "guarantee") figures.push(`shares count from ${threshold} of the limit on`);
  const strict = d.mode === "strict";
  return {
    id: "busy", asks, figures: figures.join("; "), decided: false,
    says: strict ? "Yes: the pool is busy." : "No: there is room, so keys may use more than their share.",
    tone: strict ? "warn" : "good",
  };
}

function shareStep(e: Explanation, d: Judged): Step | null {
  const { pool } = e.rules;
  const allocation = allocationOf(pool, e.question.apiKeyId);
  if (!pool || !allocation || d.fairShare === null || d.limit === null) return null;
  const equal = compare(sum(pool.allocations.map((a) => a.weight)), 0) === 0;
  const figures = equal
    ? `${exactly(d.limit, d.unit)} in ${pool.allocations.length} equal parts = ${exactAmount(d.fairShare, d.unit)}`
    : `${exactly(d.limit, d.unit)} × ${allocation.weight} ÷ ${parts(pool)} = ${exactAmount(d.fairShare, d.unit)}`;
  const whose = allocation.apiKeyId === "*" ? "Keys without a share of their own have one between them." : `Its weight is ${allocation.weight} of ${parts(pool)}.`;
  return { id: "share", asks: "What is its fair share?", figures, says: whose, tone: "quiet", decided: false };
}

function keyStep(e: Explanation, d: Judged): Step | null {
  const allocation = allocationOf(e.rules.pool, e.question.apiKeyId);
  if (!allocation || d.fairShare === null) return null;
  const have = sum([d.consumed, d.held]);
  const over = compare(have, d.fairShare) > 0;
  const decided = e.reply.reason === "fair-share" && decidedBy(e, d);
  return {
    id: "key", asks: "Is it within its share?", decided,
    figures: `${added(d.unit, d.consumed, d.held, 0)}, share ${exactAmount(d.fairShare, d.unit)}`,
    says: over ? overSays(minus(have, d.fairShare), d, allocation) : `Yes: ${exactAmount(minus(d.fairShare, have), d.unit)} of its share are left.`,
    tone: !over ? "good" : decided ? "bad" : "warn",
  };
}

function overSays(by: string, d: Judged, allocation: Allocation): string {
  const over = `No: ${exactAmount(by, d.unit)} over.`;
  return d.mode === "strict" ? `${over} Its policy is ${policyMeaning(allocation.policy)}.` : `${over} That is lent while shares do not count.`;
}

/** The cap on a line, if the key has one: for one model, for this window, or for every window of the unit. */
export function capOn(pool: Pool | null, apiKeyId: string, line: Line): Amount | null {
  if (line.model !== undefined) {
    return pool?.modelCaps.find((c) => c.apiKeyId === apiKeyId && c.model === line.model && c.capUnit === line.unit)?.capValue ?? null;
  }
  const allocation = allocationOf(pool, apiKeyId);
  const named = allocation?.caps?.find((cap) => cap.unit === line.unit && cap.window === line.window)?.value ?? null;
  const every = allocation?.capUnit === line.unit ? (allocation.capValue ?? null) : null;
  if (named === null || every === null) return named ?? every;
  return compare(named, every) < 0 ? named : every; // the tighter one
}

function capStep(e: Explanation, line: Line, used: Amount, held: Amount): Step | null {
  const cap = capOn(e.rules.pool, e.question.apiKeyId, line);
  if (cap === null) return null;
  const asked = atMost(estimated(e.question.estimate, line.unit), cap);
  const decided = (e.reply.reason === "cap-absolute" || e.reply.reason === "model-cap") && decidedBy(e, line);
  const full = decided || passes(sum([used, held]), asked, cap);
  const left = minus(cap, sum([used, held, asked]));
  return {
    id: "cap", asks: line.model === undefined ? "Is it below its own cap?" : `Is it below its cap for ${line.model}?`, decided,
    figures: `${added(line.unit, used, held, asked)}, cap ${exactAmount(cap, line.unit)}`,
    says: full ? "No: the cap is reached, whatever the policy." : `Yes: ${exactAmount(left, line.unit)} would be left.`,
    tone: full ? "bad" : "good",
  };
}

/** The steps of one dimension, in the order in which they are looked at. */
export function stepsOf(e: Explanation, d: Judged): Step[] {
  const steps = [capStep(e, { unit: d.unit, window: d.window }, d.consumed, d.held), limitStep(e, d), busyStep(e, d), shareStep(e, d), keyStep(e, d)];
  return steps.filter((step) => step !== null);
}

/** The step of a cap that is on no dimension of the plan. */
export function stepOfCap(e: Explanation, line: ExplainedLine): Step | null {
  return capStep(e, named(line), line.consumed ?? line.found, 0);
}

const named = ({ unit, window, model }: Line): Line => ({ unit, window, ...(model === undefined ? {} : { model }) });

/** The lines of caps that no dimension shows. */
export function capsBeside({ reply, consumption }: Explanation): ExplainedLine[] {
  return consumption.filter((line) => !(reply.dimensions ?? []).some((d) => same(d, named(line))));
}

/** The dimensions, the one that decided first. */
export function inOrder(e: Explanation): Judged[] {
  const all = e.reply.dimensions ?? [];
  return [...all.filter((d) => decidedBy(e, d)), ...all.filter((d) => !decidedBy(e, d))];
}

/** What of an event was counted, in percent of what it cost: less than all once it leaves the window. null for no cost. */
export function counted(cost: Amount, weight: Amount): string | null {
  return decimal(cost).units === 0n ? null : percentOf(weight, cost, 4);
}

/** What the events found do not explain of what was consumed; "0" for all explained. */
export function unexplained(line: ExplainedLine): string {
  if (line.consumed === null) return "0";
  const rest = minus(line.consumed, line.found);
  const most = digits({ units: BigInt(Math.max(1, line.events)), scale: line.unit === "usd" ? 9 : line.unit === "percent" ? 6 : 3 });
  // Each event may lose the smallest amount by rounding.
  return compare(rest, most) > 0 ? rest : "0";
}
