import "./meter.css";
import type { Amount } from "../api/json";
import { roughly } from "../words/decimal";
import type { Tone } from "../words/verdict";

interface Props {
  /** In percent; above 100 the line is full. */
  value: Amount;
  /** A mark to compare with, in percent. */
  beside?: Amount;
  tone: Tone;
  /** What it shows, in words. */
  label: string;
}

const length = (percent: Amount): string => `${Math.min(Math.max(roughly(percent), 0), 100).toFixed(2)}%`;

/** A thin line that is full so far, and a mark on it. */
export function Meter({ value, beside, tone, label }: Props) {
  return (
    <div class={`meter ${tone}`} role="img" aria-label={label}>
      <span class="meter-full" style={{ width: length(value) }} />
      {beside !== undefined && <span class="meter-mark" style={{ left: length(beside) }} />}
    </div>
  );
}
