import "./meter.css";
import type { Amount } from "../api/json";
import { roughly } from "../words/decimal";
import type { Tone } from "../words/verdict";

interface Props {
  /** In percent; above what the whole line stands for it is full. */
  value: Amount;
  /** A mark to compare with, in percent. */
  beside?: Amount;
  /** What the whole line stands for, in percent. */
  whole?: number;
  tone: Tone;
  /** The colour of a key instead of that of the tone; −1 for who has none. */
  hue?: number;
  /** What it shows, in words; left out where they stand beside. */
  label?: string;
}

const length = (percent: Amount, whole: number): string => `${Math.min(Math.max((roughly(percent) * 100) / whole, 0), 100).toFixed(2)}%`;

const colour = (hue: number): string => (hue < 0 ? "others" : `hue-${hue}`);

/** A thin line that is full so far, and a mark on it. */
export function Meter({ value, beside, whole = 100, tone, hue, label }: Props) {
  return (
    <div class={`meter ${tone}`} {...(label === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": label })}>
      <span class={`meter-full ${hue === undefined ? "" : colour(hue)}`} style={{ width: length(value, whole) }} />
      {beside !== undefined && <span class="meter-mark" style={{ left: length(beside, whole) }} />}
    </div>
  );
}
