/** What is looked at before any limit: whether a pool judges at all, and whether there is a place. */
import type { Explanation } from "../api/answers";
import { grouped } from "../words/decimal";
import { allocationOf, type Step } from "./arithmetic";

/** The steps that say something: of a pool that enforces, and a key that has a share in it, there is none. */
export function beforeAll(e: Explanation): Step[] {
  return [poolStep(e), modeStep(e), suspendedStep(e), allocationStep(e), placeStep(e)].filter((step) => step !== null);
}

function poolStep({ rules, reply }: Explanation): Step | null {
  if (rules.pool) return null;
  return {
    id: "pool", asks: "Is the connection in a pool?", figures: "in none", tone: "warn", decided: reply.reason === "no-pool",
    says: "No: nothing limits it. A mistyped name looks like this too.",
  };
}

function modeStep({ rules: { pool }, reply }: Explanation): Step | null {
  if (!pool || pool.mode === "enforce") return null;
  const asks = "Does the pool block at all?";
  if (pool.mode === "off") return { id: "mode", asks, figures: `${pool.name} is off`, says: "No: it counts, and judges nothing.", tone: "quiet", decided: reply.reason === "off" };
  return { id: "mode", asks, figures: `${pool.name} observes`, says: "No: it lets everything pass, and notes what it would have blocked.", tone: "quiet", decided: false };
}

function suspendedStep({ rules: { pool }, question, reply }: Explanation): Step | null {
  const allocation = allocationOf(pool, question.apiKeyId);
  if (!allocation?.suspended) return null;
  return {
    id: "suspended", asks: "Is the key suspended?", figures: `${question.apiKeyId} is suspended in ${pool?.name ?? "the pool"}`, tone: "bad", decided: reply.reason === "suspended",
    says: "Yes: whatever the figures say, until somebody lifts it.",
  };
}

function allocationStep({ rules: { pool }, question, reply }: Explanation): Step | null {
  const allocation = allocationOf(pool, question.apiKeyId);
  if (!pool || allocation?.apiKeyId === question.apiKeyId) return null;
  const asks = "Has the key a share of its own?";
  if (allocation) return { id: "allocation", asks, figures: `${question.apiKeyId} is not named in ${pool.name}`, says: "No: it is judged with all keys that have none, by the one share that they have together.", tone: "quiet", decided: false };
  return { id: "allocation", asks, figures: `${question.apiKeyId} is not named in ${pool.name}`, says: "No: the limits count for it, and no share.", tone: "quiet", decided: reply.reason === "no-allocation" };
}

function placeStep({ reply }: Explanation): Step | null {
  const { inFlight, maxConcurrent, reason } = reply;
  const decided = reason === "capacity";
  const asks = "Is there a free place?";
  if (inFlight === undefined || maxConcurrent === undefined) {
    return decided ? { id: "place", asks, figures: "as many requests in flight as there may be", says: "No: one has to end first.", tone: "bad", decided } : null;
  }
  const full = inFlight >= maxConcurrent;
  return {
    id: "place", asks, decided, figures: `${grouped(String(inFlight))} in flight, of ${grouped(String(maxConcurrent))} at once`,
    says: full ? "No: one has to end first." : "Yes.", tone: full ? "bad" : "good",
  };
}
