import type { Plan } from "../../api/types";
import { Tag } from "../../parts/tag";
import { sourceName } from "../../words/terms";

/** Where a plan comes from, in two or three words. */
export function SourceTag({ plan }: { plan: Plan }) {
  return <Tag tone={plan.source === "none" ? "warn" : "quiet"}>{sourceName(plan.source)}</Tag>;
}
