import { FilterBar, FilterText } from "../../parts/filters";
import { useSeen } from "../../state/seen";
import { Timeline } from "./timeline";

interface Props {
  named: Readonly<Record<string, string>>;
  at: number;
  now: number;
  onName: (name: string, value: string) => void;
  onMoment: (at: number) => void;
  onNow: () => void;
}

/** Who, where and when. */
export function WhyForm({ named, at, now, onName, onMoment, onNow }: Props) {
  const seen = useSeen();
  const value = (name: string): string => named[name] ?? "";
  return (
    <section class="card why-form" aria-label="What is to be explained">
      <FilterBar label="Key and connection">
        <FilterText label="Key" placeholder="who asked" known={seen.keys} value={value("key")} onChange={(text) => onName("key", text)} />
        <FilterText label="Connection" placeholder="which account" known={seen.connections} value={value("connection")} onChange={(text) => onName("connection", text)} />
        <FilterText label="Model" placeholder="any" value={value("model")} onChange={(text) => onName("model", text)} />
      </FilterBar>
      <Timeline apiKeyId={value("key")} connectionId={value("connection")} at={at} now={now} onMoment={onMoment} onNow={onNow} />
    </section>
  );
}
