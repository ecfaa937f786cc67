/** The steps of an answer by the rule guarantee: what the key is promised, and what is kept for others. */
import type { Explanation, Judged } from "../api/answers";
import { exactAmount, exactly } from "../words/amount";
import { compare } from "../words/decimal";
import { keyName } from "../words/keys";
import type { Step } from "./arithmetic";

/** What the key can still use whatever the others do. */
export function promiseStep(e: Explanation, d: Judged): Step {
  const none = compare(d.promised ?? 0, 0) === 0;
  const within = e.reply.detail === "guaranteed";
  return {
    id: "promise", asks: "What is it promised still?", figures: exactAmount(d.promised ?? 0, d.unit), decided: false, tone: within ? "good" : "quiet",
    says: none ? "Nothing: in this window it has had its pace already." : within ? "The request stays within that." : "That it can use whatever the others do; more only while nobody else needs it.",
  };
}

/** Whether what is left is kept for others, and for whom. */
export function keptStep(e: Explanation, d: Judged, decided: boolean): Step {
  const yields = e.reply.detail === "yield";
  const figures = `${exactly(d.kept ?? 0, d.unit)} kept for keys that have used less, ${exactAmount(d.headroom ?? 0, d.unit)} left for them when all is used`;
  if (!decided) return { id: "kept", asks: "Is what is left kept for others?", figures, says: "No: beside that there is room.", tone: "good", decided };
  return { id: "kept", asks: "Is what is left kept for others?", figures, says: (yields ? "They go first: there is next to no room." : "Yes: with the request there would be too little for them.") + forWhom(d), tone: "bad", decided };
}

/** " It is for bob (250 requests) and eve (40 requests)." */
function forWhom({ keptFor = [], unit }: Judged): string {
  if (keptFor.length === 0) return "";
  const each = keptFor.map((k) => `${keyName(k.apiKeyId)} (${exactAmount(k.amount, unit)})`);
  const last = each.pop() ?? "";
  return ` It is for ${each.length === 0 ? last : `${each.join(", ")} and ${last}`}.`;
}
