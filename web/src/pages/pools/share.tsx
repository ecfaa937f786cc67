import type { KeyUse } from "../../api/types";
import { Meter } from "../../parts/meter";
import { compare, percentOf } from "../../words/decimal";
import type { Tone } from "../../words/verdict";

/** How much of a share the whole line stands for, in percent: who is above it is seen beyond the mark. */
const whole = 150;

interface Props {
  of: KeyUse;
  tone: Tone;
  hue?: number;
}

/** What a key has used beside its fair share, which is the mark. Nothing where it has none. */
export function ShareMeter({ of: { consumed, fairShare }, tone, hue }: Props) {
  if (fairShare === null) return null;
  // Of a share of nothing everything is too much.
  const used = percentOf(consumed, fairShare, 1) ?? (compare(consumed, 0) > 0 ? whole : 0);
  return <Meter value={used} beside={100} whole={whole} tone={tone} {...(hue === undefined ? {} : { hue })} />;
}
