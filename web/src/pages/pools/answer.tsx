import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../parts/button";
import { count } from "../../words/amount";
import type { Said, Tone } from "../../words/verdict";

const marks: Record<Tone, string> = { good: "✓", warn: "!", bad: "✕", quiet: "–" };

/** How many rows an answer has before one asks for more. */
const few = 3;

interface Props<Row> {
  title: string;
  /** The answer in one line. */
  said: Said;
  /** What else has to be said about that. */
  note?: string;
  rows: readonly Row[];
  children: (row: Row) => ComponentChildren;
}

/** One question, its answer in a line, and below what that comes from. */
export function Answer<Row>({ title, said, note, rows, children }: Props<Row>) {
  const [all, setAll] = useState(false);
  const hidden = rows.length - few;
  return (
    <section class={`card answer ${said.tone}`} aria-label={title}>
      <h2>{title}</h2>
      <div class={`answer-said ${said.tone}-text`}>
        <span class="answer-mark" aria-hidden="true">
          {marks[said.tone]}
        </span>
        <p>{said.text}</p>
        {note && <p class="answer-note">{note}</p>}
      </div>
      {rows.length > 0 && <ul>{(all ? rows : rows.slice(0, few)).map(children)}</ul>}
      {hidden > 0 && (
        <Button kind="quiet" onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show ${count(hidden, "more", "more")}`}
        </Button>
      )}
    </section>
  );
}
