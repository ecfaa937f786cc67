/**
 * The arithmetic of an answer, step by step. The figures are those that the
 * engine judged by; what is worked out here is only what stands between them, and
 * with all digits.
 */
import type { Estimate, ExplainedLine, Explanation, Judged } from "../api/answers";
import type { Amount } from "../api/json";
import type { Allocation, Plan, Pool, Unit, Window } from "../api/types";
import { exactAmount, exactly } from "../words/amount";
import { compare, decimal, digits, minus, percentOf, sum, times } from "../words/decimal";
import { percentFigure } from "../words/percent";
import { policyMeaning } from "../words/terms";
import { keptStep, promiseStep } from "./promise";
import type { Tone } from "../words/verdict";

export interface Step {
  readonly id: "pool" | "mode" | "suspended" | "allocation" | "place" | "sum" | "limit" | "busy" | "share" | "key" | "cap" | "rest" | "promise" | "kept";
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

/** Why less was added than was asked for; "" when it was not. */
function cutTo(what: string, asked: Amount, unit: Unit, limit: Amount): string {
  return compare(asked, limit) > 0 ? ` Of the ${exactAmount(asked, unit)} asked for no more counts than the whole ${what}.` : "";
}

/** Used up, or passed by what is asked for. */
function passes(have: Amount, asked: Amount, limit: Amount): boolean {
  return compare(have, limit) >= 0 || compare(sum([have, asked]), limit) > 0;
}

/** The limits of the connections one by one, when they are several; null when they are not known to make up the limit. */
function limitsOf({ rules }: Explanation, d: Judged): { connectionId: string; limit: Amount }[] | null {
  const limitOf = (plan: Plan | undefined): Amount => plan?.dimensions.find((has) => has.unit === d.unit && has.window === d.window)?.limit ?? 0;
  const first = limitOf(rules.plans[0]);
  // A connection whose own plan lacks the dimension counts with the first one's limit.
  const all = rules.plans.map((plan) => ({ connectionId: plan.connectionId, limit: compare(limitOf(plan), 0) > 0 ? limitOf(plan) : first }));
  return d.limit !== null && compare(sum(all.map((one) => one.limit)), d.limit) === 0 ? all : null;
}

/** As many connections as can be named in a sum. */
const named = 4;

function sumStep(e: Explanation, d: Judged): Step | null {
  const all = limitsOf(e, d);
  if (all === null || all.length < 2) return null;
  const limit = exactAmount(d.limit, d.unit);
  const figures = all.length > named ? `${all.length} connections together: ${limit}` : `${all.map((one) => `${exactly(one.limit, d.unit)} of ${one.connectionId}`).join(" + ")} = ${limit}`;
  return { id: "sum", asks: "How much is there?", figures, says: "The limits of all connections of the pool together.", tone: "quiet", decided: false };
}

function limitStep(e: Explanation, d: Judged): Step {
  const asks = "Is there room for everybody?";
  const decided = e.reply.reason === "global-saturated" && decidedBy(e, d);
  if (d.limit === null) {
    return { id: "limit", asks, figures: `${added(d.unit, d.consumedTotal, d.heldTotal, 0)} by all keys`, says: "The limit is not known, so nothing is compared.", tone: "quiet", decided };
  }
  const wanted = estimated(e.question.estimate, d.unit);
  const asked = atMost(wanted, d.limit);
  const have = sum([d.consumedTotal, d.heldTotal]);
  const full = passes(have, asked, d.limit) || decided;
  const left = minus(d.limit, sum([have, asked]));
  return {
    id: "limit", asks, decided,
    figures: `${added(d.unit, d.consumedTotal, d.heldTotal, asked)}, of ${exactAmount(d.limit, d.unit)}`,
    says: (full ? fullBecause(d, have) : `Yes: ${exactAmount(left, d.unit)} would be left.`) + cutTo("limit", wanted, d.unit, d.limit),
    tone: full ? "bad" : "good",
  };
}

function fullBecause(d: Judged, have: string): string {
  if (d.limit !== null && compare(have, d.limit) >= 0) return "No: the limit is used up, by all keys together.";
  if (d.providerUsed !== null && compare(d.providerUsed, 100) >= 0) return `No: the provider says that ${percentFigure(d.providerUsed)} of its window is used.`;
  return "No: the request does not fit into what is left.";
}

/** Whether the pool's own count, and not a provider, makes shares count. */
function ownCountIsBusy({ rules }: Explanation, d: Judged): boolean {
  const { value } = rules.settings.saturationThreshold;
  return d.limit !== null && compare(sum([d.consumedTotal, d.heldTotal]), times(d.limit, value)) >= 0;
}

/** What the providers of all connections say of the limit together: their readings, weighed by the limits. null when one says nothing. */
function saidByProviders(e: Explanation, d: Judged): { figures: string; percent: string } | null {
  const limits = limitsOf(e, d);
  const said = limits?.map(({ connectionId, limit }) => {
    const of = e.signals.find((s) => s.connectionId === connectionId && s.window === d.window && s.scope === undefined && s.signal === "fresh");
    return { connectionId, limit, used: of?.usedPercent ?? null };
  });
  if (!said?.length || said.some((one) => one.used === null)) return null;
  const percent = percentOf(sum(said.map((one) => times(one.limit, one.used ?? 0))), times(d.limit ?? 0, 100), 4) ?? "0";
  const each = said.map((one) => `${percentFigure(one.used ?? 0)} of ${one.connectionId}`).join(", ");
  return { percent, figures: said.length === 1 ? `the provider says ${percentFigure(percent)} of its window` : `the providers say ${each}: weighed by the limits ${percentFigure(percent)}` };
}

function providerFigures(e: Explanation, d: Judged): string {
  if (d.unit === "percent") return ""; // what is used is the provider's word already
  const said = saidByProviders(e, d);
  if (said) return said.figures;
  return d.providerUsed === null ? "" : `the provider says ${percentFigure(d.providerUsed)} of its window`;
}

function busyStep(e: Explanation, d: Judged): Step {
  const asks = "Do shares count yet?";
  const part = e.rules.settings.saturationThreshold.value;
  const threshold = percentFigure(times(part, 100));
  if (d.limit === null) {
    return { id: "busy", asks, figures: `the limit is not known; shares count from ${threshold} of a limit on`, says: "No: a share of nobody knows what is none.", tone: "quiet", decided: false };
  }
  const used = percentOf(sum([d.consumedTotal, d.heldTotal]), d.limit, 5) ?? "0";
  const own = `${added(d.unit, d.consumedTotal, d.heldTotal, 0)}: ${percentFigure(used)} of the limit`;
  const from = `shares count from ${threshold} on, ${exactAmount(times(d.limit, part), d.unit)}`;
  const strict = d.mode === "strict";
  const why = strict && !ownCountIsBusy(e, d) ? ", by what the provider says" : "";
  return {
    id: "busy", asks, figures: [own, providerFigures(e, d), from].filter(Boolean).join("; "), decided: false,
    says: strict ? `Yes: the pool is busy${why}.` : "No: there is room, so keys may use more than their share.",
    tone: strict ? "warn" : "good",
  };
}

function shareStep(e: Explanation, d: Judged): Step | null {
  const { pool } = e.rules;
  const allocation = allocationOf(pool, e.question.apiKeyId);
  if (!pool || !allocation || d.fairShare === null || d.limit === null) return null;
  const all = parts(pool);
  const equal = compare(sum(pool.allocations.map((a) => a.weight)), 0) === 0;
  const n = pool.allocations.length;
  const figures = equal ? `${exactly(d.limit, d.unit)} ÷ ${n} = ${exactAmount(d.fairShare, d.unit)}` : `${exactly(d.limit, d.unit)} × ${allocation.weight} ÷ ${all} = ${exactAmount(d.fairShare, d.unit)}`;
  const even = compare(times(d.fairShare, equal ? n : all), times(d.limit, equal ? 1 : allocation.weight)) === 0;
  return {
    id: "share", asks: "What is its fair share?", figures, tone: "quiet", decided: false,
    says: [equal ? `All weights are 0, so each of ${n} has an equal part of the limit.` : weighed(pool, allocation, all), !even && "What is smaller than the smallest amount is cut off."].filter(Boolean).join(" "),
  };
}

/** "The limit × its weight ÷ the sum of all weights." */
function weighed(pool: Pool, allocation: Allocation, all: string): string {
  const weights = sum(pool.allocations.map((a) => a.weight));
  const whose = allocation.apiKeyId === "*" ? "the weight of everyone else, who share it between them," : "its weight";
  const lacks = compare(weights, 100) < 0 ? ` The weights sum to ${weights}: what lacks to 100 is nobody's share.` : "";
  return `The limit × ${whose} ÷ ${lacks ? all : `${all}, the sum of all weights`}.${lacks}`;
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
    says: over ? overSays(minus(have, d.fairShare), e, d, allocation) : `Yes: ${exactAmount(minus(d.fairShare, have), d.unit)} of its share are left.`,
    tone: !over ? "good" : decided ? "bad" : "warn",
  };
}

function overSays(by: string, { reply }: Explanation, d: Judged, allocation: Allocation): string {
  const over = `No: ${exactAmount(by, d.unit)} over.`;
  if (d.mode !== "strict") return `${over} That is lent while shares do not count.`;
  const behind = reply.deprioritize ? ` Its request has its score × ${reply.scoreFactor}.` : "";
  return `${over} Its policy is ${policyMeaning(allocation.policy)}.${behind}`;
}

/** What the engine says is left for the key: nobody has to work that out. */
function restStep(d: Judged): Step | null {
  if (d.remaining === null) return null;
  const none = compare(d.remaining, 0) === 0;
  return {
    id: "rest", asks: "How much may it still use?", figures: exactAmount(d.remaining, d.unit), decided: false, tone: "quiet",
    says: none ? "Nothing: one of the above leaves it none." : "The least that one of the above leaves it.",
  };
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
  const wanted = estimated(e.question.estimate, line.unit);
  const asked = atMost(wanted, cap);
  const decided = (e.reply.reason === "cap-absolute" || e.reply.reason === "model-cap") && decidedBy(e, line);
  const full = passes(sum([used, held]), asked, cap);
  const left = minus(cap, sum([used, held, asked]));
  const says = full ? "No: the cap is reached, whatever the policy." : decided ? "No: with its requests in flight the cap is reached, whatever the policy." : `Yes: ${exactAmount(left, line.unit)} would be left.`;
  return {
    id: "cap", asks: line.model === undefined ? "Is it below its own cap?" : `Is it below its cap for ${line.model}?`, decided,
    figures: `${added(line.unit, used, held, asked)}, cap ${exactAmount(cap, line.unit)}`,
    says: says + cutTo("cap", wanted, line.unit, cap),
    tone: full || decided ? "bad" : "good",
  };
}

/** The steps of one dimension, in the order in which they are looked at. */
export function stepsOf(e: Explanation, d: Judged): Step[] {
  const rule = d.promised === undefined ? [busyStep(e, d), shareStep(e, d), keyStep(e, d)] : [shareStep(e, d), promiseStep(e, d), keptStep(e, d, e.reply.reason === "fair-share" && decidedBy(e, d))];
  const steps = [capStep(e, { unit: d.unit, window: d.window }, d.consumed, d.held), sumStep(e, d), limitStep(e, d), ...rule, restStep(d)];
  return steps.filter((step) => step !== null);
}

/** The step of a cap that is on no dimension of the plan. */
export function stepOfCap(e: Explanation, line: ExplainedLine): Step | null {
  return capStep(e, lineOf(line), line.consumed ?? line.found, 0);
}

const lineOf = ({ unit, window, model }: Line): Line => ({ unit, window, ...(model === undefined ? {} : { model }) });

/** The lines of caps that no dimension shows. */
export function capsBeside({ reply, consumption }: Explanation): ExplainedLine[] {
  return consumption.filter((line) => !(reply.dimensions ?? []).some((d) => same(d, lineOf(line))));
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
