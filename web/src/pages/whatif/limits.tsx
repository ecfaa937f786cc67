import { useId } from "preact/hooks";
import type { Unit, Window } from "../../api/types";
import { appended, replaced, without } from "../../model/draft";
import { type DimensionDraft, nextDimension, planDraft } from "../../model/plandraft";
import { type Base, type Tried, type TriedPlan, withPlan } from "../../model/trial";
import { Button } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { dimensionTitle, sourceName, windowName } from "../../words/terms";
import { unitTitle, units, windows } from "../../words/units";

interface Props {
  base: Base;
  tried: Tried;
  /** What the engine said of a limit: of which connection, at which place, which field. */
  problem: (connectionId: string, place: number, field: string) => string;
  onChange: (tried: Tried) => void;
}

/** The limits of the pool's connections, folded away: most people try weights. */
export function Limits({ base, tried, problem, onChange }: Props) {
  if (tried.plans.length === 0) return null;
  const wrong = tried.plans.some((plan) => plan.dimensions.some((_, place) => ["limit", "unit", "window"].some((field) => problem(plan.connectionId, place, field) !== "")));
  return (
    <details class="trial-more" open={wrong || undefined}>
      <summary>Other limits of its connections</summary>
      <div class="trial-plans">
        {tried.plans.map((plan, place) => (
          <PlanLimits key={plan.connectionId} of={plan} base={base} place={place} problem={(at, field) => problem(plan.connectionId, at, field)} onChange={(list) => onChange(withPlan(tried, plan.connectionId, list))} />
        ))}
      </div>
      {base.pool.connectionIds.length > tried.plans.length && <p class="faint">{`The first ${tried.plans.length} of ${base.pool.connectionIds.length} connections: the others stay as they are.`}</p>}
    </details>
  );
}

interface PlanProps {
  of: TriedPlan;
  base: Base;
  place: number;
  problem: (place: number, field: string) => string;
  onChange: (dimensions: readonly DimensionDraft[]) => void;
}

function PlanLimits({ of: { connectionId, dimensions }, base, place, problem, onChange }: PlanProps) {
  const plan = base.plans[place];
  const before = plan ? planDraft(plan) : [];
  return (
    <section class="trial-plan" aria-label={`Limits of ${connectionId}`}>
      <h3>
        {connectionId} <span class="faint trial-source">{plan ? sourceName(plan.source) : ""}</span>
      </h3>
      {dimensions.length === 0 && <p class="soft">Nothing is counted here, so nothing is limited.</p>}
      <ul class="trial-limits">
        {dimensions.map((d, at) => (
          <LimitRow
            key={d.row}
            of={d}
            known={before.some(({ row }) => row === d.row)}
            connectionId={connectionId}
            problem={["limit", "unit", "window"].map((field) => problem(at, field)).find((text) => text !== "") ?? ""}
            onChange={(change) => onChange(replaced(dimensions, d.row, change))}
            onRemove={() => onChange(without(dimensions, d.row))}
          />
        ))}
      </ul>
      <div>
        <Button kind="quiet" onClick={() => onChange(appended<DimensionDraft>(dimensions, { ...nextDimension(dimensions, units, windows), limit: "" }))}>
          {`Add a limit to ${connectionId}`}
        </Button>
      </div>
    </section>
  );
}

interface RowProps {
  of: DimensionDraft;
  /** It is in the plan in force: then only its limit is tried. */
  known: boolean;
  connectionId: string;
  problem: string;
  onChange: (change: Partial<DimensionDraft>) => void;
  onRemove: () => void;
}

function LimitRow({ of: d, known, connectionId, problem, onChange, onRemove }: RowProps) {
  const id = useId();
  const name = `${dimensionTitle(d)} of ${connectionId}`;
  return (
    <li class="trial-limit">
      {known ? (
        <label class="trial-limit-name" for={id}>
          {dimensionTitle(d)}
        </label>
      ) : (
        <NewDimension of={d} connectionId={connectionId} onChange={onChange} />
      )}
      <input
        class="input"
        id={id}
        inputMode="decimal"
        placeholder="not known: counted only"
        value={d.limit}
        aria-label={`Limit of ${name}`}
        aria-invalid={problem !== ""}
        onInput={(event) => onChange({ limit: event.currentTarget.value })}
      />
      <Button kind="quiet" label={`Without ${name}`} onClick={onRemove}>
        <Icon name="close" />
      </Button>
      {problem && (
        <p class="field-problem" role="status">
          {`The limit ${problem}`}
        </p>
      )}
    </li>
  );
}

function NewDimension({ of: d, connectionId, onChange }: { of: DimensionDraft; connectionId: string; onChange: (change: Partial<DimensionDraft>) => void }) {
  return (
    <span class="trial-new">
      <select class="input" value={d.unit} aria-label={`What is limited on ${connectionId}`} onChange={(event) => onChange({ unit: event.currentTarget.value as Unit })}>
        {units.map((unit) => (
          <option key={unit} value={unit} selected={unit === d.unit}>
            {unitTitle(unit)}
          </option>
        ))}
      </select>
      <select class="input" value={d.window} aria-label={`Per which time on ${connectionId}`} onChange={(event) => onChange({ window: event.currentTarget.value as Window })}>
        {windows.map((window) => (
          <option key={window} value={window} selected={window === d.window}>
            {`per ${windowName(window)}`}
          </option>
        ))}
      </select>
    </span>
  );
}
