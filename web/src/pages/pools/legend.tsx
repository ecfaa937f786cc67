import type { Rule } from "../../api/types";

/** What the parts of a bar mean. Where a bar has other parts, it says so itself. */
const meanings = {
  part: "used by a key",
  others: "by keys without a share",
  share: "fair share of each",
  threshold: "shares count from here",
  limit: "the limit",
} as const;

export type GlyphName = keyof typeof meanings | "unattributed" | "held" | "unallocated" | "kept";

/** A small picture of a part of a bar. */
export function Glyph({ of }: { of: GlyphName }) {
  return <span class={`glyph ${of}`} aria-hidden="true" />;
}

/** How to read the bars, once for all of them; a pool that guarantees has no threshold. */
export function Legend({ rule = "threshold" }: { rule?: Rule }) {
  return (
    <ul class="legend" aria-label="How to read the bars">
      {Object.entries(meanings).filter(([name]) => name !== "threshold" || rule === "threshold").map(([name, meaning]) => (
        <li key={name}>
          <Glyph of={name as GlyphName} /> {meaning}
        </li>
      ))}
    </ul>
  );
}
