/** The two ways of sharing, and what answers say by the second of them. */
import type { Explanation } from "../api/answers";
import type { Binding, Rule } from "../api/types";
import { dimensionName } from "./terms";

const sentences: Record<Rule, string> = {
  threshold:
    "Until a part of the limit is used, half unless the settings say otherwise, anybody may use what others leave. " +
    "From then on every key stops at its share, so a key that is alone stops at that part, or at its share.",
  guarantee:
    "For every key that has used less than you for its weight we keep back its fair pace, its share × the time left in the window; everything else anyone may use. " +
    "When the pool is full, what comes free goes first to those who have used least for their weight, so a key that comes late gets the rest of its pace by the end of the window, whatever the others did.",
};

/** What a rule does, in two sentences. */
export function ruleSentences(rule: Rule): string {
  return sentences[rule];
}

type Detail = "guaranteed" | "ok" | "borrowed" | "reserved" | "yield";

const short: Partial<Record<Detail, string>> = { reserved: "kept for others", yield: "others go first" };

/** "kept for others": why the rule guarantee blocks, for a tag; "" where it does not say. */
export function detailShort(detail: string | undefined): string {
  return short[detail as Detail] ?? "";
}

const long: Record<Detail, (what: string) => string> = {
  guaranteed: () => "It stays within what the key is promised, which is there whatever the others do.",
  ok: () => "It stays within the key's share, and nobody needs it more.",
  borrowed: () => "It is more than the key's share, and nobody needs that now.",
  reserved: (what) => `What is left of ${what} is kept for keys that have used less for their weight.`,
  yield: (what) => `There is next to no room left of ${what}, and keys that have used less for their weight go first.`,
};

/** One sentence on a block by the rule guarantee; "" where it does not say why. */
export function detailBlocks({ detail }: { readonly detail?: "reserved" | "yield" }, binding: Binding | undefined): string {
  return detail === undefined ? "" : long[detail](binding ? dimensionName(binding) : "what the pool may use");
}

/** One sentence on how an answer of the rule guarantee came about; "" of one by the other rule, and where something else decided. */
export function detailLong({ reply: { detail, reason, binding }, rules }: Explanation): string {
  const by = reason === "fair-share" || reason === "ok";
  if (!by || rules.pool?.rule !== "guarantee" || !detail || !(detail in long)) return "";
  return long[detail as Detail](binding ? dimensionName(binding) : "what the pool may use");
}
