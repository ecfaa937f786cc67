import type { BarModel, Mark, Segment } from "../model/bar";

interface Props {
  model: BarModel;
  /** All that the bar shows, in words: who cannot see it hears this. */
  label: string;
  /** What a part is, when the pointer rests on it. */
  describe?: (part: Segment | Mark) => string;
  /** As describe, of the shares below. */
  describeShare?: (share: Segment) => string;
  small?: boolean;
}

const percent = (part: number): string => `${(part * 100).toFixed(3)}%`;

/** Where the limit is on the bar. */
const limitOf = (model: BarModel): number => model.marks.find((mark) => mark.kind === "limit")?.at ?? 1;

function Part({ part, title }: { part: Segment; title: string | undefined }) {
  const colour = part.hue >= 0 ? `hue-${part.hue}` : part.kind;
  return <span class={`bar-part ${colour}`} style={{ left: percent(part.from), width: percent(part.size) }} title={title} />;
}

/**
 * Who has which part of a limit. Above what is used, below it as a thin line the
 * fair shares, in the same colours: who is longer above than below is over.
 * Lengths are only approximate; the figures beside are exact.
 */
export function Bar({ model, label, describe, describeShare, small = false }: Props) {
  const state = `${model.known ? "" : " bar-unknown"}${model.over ? " bar-over" : ""}${small ? " small" : ""}`;
  return (
    <div class={`bar${state}`} role="img" aria-label={label}>
      <div class="bar-track">
        {model.segments.map((part) => (
          <Part key={`${part.kind} ${part.id}`} part={part} title={describe?.(part)} />
        ))}
        {model.over && <span class="bar-excess" style={{ left: percent(limitOf(model)) }} />}
      </div>
      {!small && (
        <div class="bar-shares">
          {model.shares.map((part) => (
            <Part key={`${part.kind} ${part.id}`} part={part} title={describeShare?.(part)} />
          ))}
        </div>
      )}
      {model.marks.map((mark) => (
        <span key={mark.kind} class={`bar-mark ${mark.kind}`} style={{ left: percent(mark.at) }} title={describe?.(mark)} />
      ))}
    </div>
  );
}

/** The colour of a key beside its name. */
export function Swatch({ hue }: { hue: number }) {
  return <span class={`swatch ${hue >= 0 ? `hue-${hue}` : "others"}`} aria-hidden="true" />;
}
