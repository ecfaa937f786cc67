import type { Amount as Value } from "../api/json";
import type { Unit } from "../api/types";
import { useSession } from "../state/session";
import { amount, exactAmount, figure, short } from "../words/amount";
import { percent } from "../words/percent";
import { exactMoment, fullInstant, instant, moment, relative, until } from "../words/time";

interface AmountProps {
  of: Value | null;
  unit: Unit;
  /** full: with the word of the unit; figure: without; short: a million and more in three digits. */
  as?: "full" | "figure" | "short";
}

/** An amount. All its digits are one hover away. */
export function Amount({ of, unit, as = "full" }: AmountProps) {
  const say = { full: amount, figure, short }[as];
  return <span title={exactAmount(of, unit)}>{say(of, unit)}</span>;
}

/** A percentage, and of what. */
export function Percent({ value, of, unknown }: { value: Value | null; of: string; unknown?: string }) {
  return <span title={value === null ? undefined : `${String(value)} % of ${of}`}>{percent(value, of, unknown)}</span>;
}

interface WhenProps {
  /** A time of the API; null is said as unknown. */
  at: string | null;
  /** since: "4 min ago"; until: "in 2 h 10 min (16:15)"; at: "14:05"; clock: "14:05:09". */
  as?: "since" | "until" | "at" | "clock";
  unknown?: string;
}

/** An instant, that moves on with the clock. In full, and in UTC, one hover away. */
export function When({ at, as = "since", unknown = "not known" }: WhenProps) {
  const { store } = useSession();
  const now = (as === "at" || as === "clock" ? store.minute : store.now).value; // they only name the day
  if (at === null) return <span>{unknown}</span>;
  const ms = instant(at);
  const text = { since: relative, until, at: moment, clock: exactMoment }[as](ms, now);
  return (
    <time class="nowrap" dateTime={at} title={fullInstant(ms)}>
      {text}
    </time>
  );
}
