import type { Tone } from "../words/verdict";

/** A word or two that stand out. The colour only repeats what the words say. */
export function Tag({ tone = "quiet", title, children }: { tone?: Tone; title?: string; children: string }) {
  return (
    <span class={`tag ${tone}${tone === "quiet" ? "" : " dotted"}`} title={title}>
      {children}
    </span>
  );
}
