import { between, type Filters, reasons, spans, verdicts } from "../../model/filters";
import { instantOf } from "../../model/timeline";
import { FilterBar, FilterSelect, FilterText } from "../../parts/filters";
import { FilterMoment } from "../../parts/moment";
import { useSeen } from "../../state/seen";
import { useSession } from "../../state/session";
import { reasonShort } from "../../words/terms";

interface Props {
  filters: Filters;
  onChange: (name: string, value: string) => void;
}

const verdictNames: Record<(typeof verdicts)[number], string> = { block: "blocked", "would-block": "would be blocked", allow: "allowed" };

const spanNames: Record<string, string> = { hour: "last hour", day: "last 24 hours", week: "last 7 days" };

/** What the list of decisions can be narrowed by. */
export function DecisionFilters({ filters, onChange }: Props) {
  const seen = useSeen();
  const { store } = useSession();
  const pools = store.pools.value ?? [];
  const now = store.now.peek();
  const value = (name: string): string => filters[name] ?? "";
  const set = (name: string) => (text: string): void => onChange(name, text);
  return (
    <FilterBar label="Which decisions">
      <FilterText label="Key" placeholder="any" known={seen.keys} value={value("key")} onChange={set("key")} />
      <FilterText label="Connection" placeholder="any" known={seen.connections} value={value("connection")} onChange={set("connection")} />
      <FilterSelect label="Pool" value={value("pool")} onChange={set("pool")} options={[{ value: "", text: "any" }, ...pools.map((pool) => ({ value: pool.id, text: pool.name }))]} />
      <FilterSelect
        label="Decision"
        value={value("decision")}
        onChange={set("decision")}
        options={[{ value: "", text: "any" }, ...verdicts.map((verdict) => ({ value: verdict, text: verdictNames[verdict] }))]}
      />
      <FilterSelect label="Reason" value={value("reason")} onChange={set("reason")} options={[{ value: "", text: "any" }, ...reasons.map((reason) => ({ value: reason, text: reasonShort(reason) }))]} />
      <FilterSelect
        label="Time"
        value={value("span")}
        onChange={set("span")}
        options={[{ value: "", text: "all that is kept" }, ...Object.keys(spans).map((span) => ({ value: span, text: spanNames[span] ?? span })), { value: between, text: "a time of its own" }]}
      />
      {value("span") === between &&
        (["from", "to"] as const).map((name) => (
          <FilterMoment key={name} label={name === "from" ? "From" : "Before"} at={instantOf(value(name))} now={now} onChange={(at) => onChange(name, at === null ? "" : String(at))} />
        ))}
    </FilterBar>
  );
}
