import type { Unit } from "../../api/types";
import { FilterBar, FilterSelect, FilterText } from "../../parts/filters";
import { useSeen } from "../../state/seen";
import { useSession } from "../../state/session";
import { units } from "../../words/units";
import { Timeline } from "./timeline";

interface Props {
  named: Readonly<Record<string, string>>;
  at: number;
  now: number;
  /** Where the history begins; null when nobody knows. */
  since: number | null;
  /** Another one when somebody went to now. */
  round: number;
  onName: (name: string, value: string) => void;
  onMoment: (at: number) => void;
  onNow: () => void;
}

const amounts: Record<Unit, string> = { requests: "Requests", tokens: "Tokens", usd: "Dollars", percent: "Points" };

/** Who, where and when. */
export function WhyForm({ named, at, now, since, round, onName, onMoment, onNow }: Props) {
  const seen = useSeen();
  const pools = useSession().store.pools.value ?? [];
  const value = (name: string): string => named[name] ?? "";
  const set = (name: string) => (text: string): void => onName(name, text);
  const sized = units.some((unit) => value(unit) !== "");
  return (
    <section class="card why-form" aria-label="What is to be explained">
      <FilterBar label="Key and connection">
        <FilterText label="Key" placeholder="who asked" known={seen.keys} value={value("key")} onChange={set("key")} />
        <FilterText label="Connection" placeholder="which account" known={seen.connections} value={value("connection")} onChange={set("connection")} />
        <FilterSelect label="or a whole pool" value={value("pool")} options={[{ value: "", text: "no" }, ...poolOptions(pools, value("pool"))]} onChange={set("pool")} />
        <FilterText label="Model" placeholder="any" value={value("model")} onChange={set("model")} />
        <FilterText label="or the id of a decision" placeholder="from its message" value={value("decision")} onChange={set("decision")} />
      </FilterBar>
      <details class="why-size" open={sized}>
        <summary>{sized ? "For a request of this size" : "For a request of a certain size"}</summary>
        <FilterBar label="What the request would use">
          {units.map((unit) => (
            <FilterText key={unit} label={amounts[unit]} placeholder="not said" value={value(unit)} onChange={set(unit)} />
          ))}
        </FilterBar>
      </details>
      <Timeline of={{ apiKeyId: value("key"), connectionId: value("connection"), poolId: value("pool") }} at={at} now={now} since={since} round={round} onMoment={onMoment} onNow={onNow} />
    </section>
  );
}

/** A pool that was deleted may still be asked about, at a moment when it was there. */
function poolOptions(pools: readonly { id: string; name: string }[], chosen: string): { value: string; text: string }[] {
  const all = pools.map(({ id, name }) => ({ value: id, text: name }));
  return chosen === "" || pools.some(({ id }) => id === chosen) ? all : [...all, { value: chosen, text: chosen }];
}
