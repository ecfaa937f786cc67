import type { ApiError } from "../../api/error";
import type { Mode, Policy, Pool, Rule } from "../../api/types";
import { type Difference, differences, faultField, split, type Tried, type TriedAllocation, triedOf, weightSum, withAllocation } from "../../model/trial";
import { Button } from "../../parts/button";
import { FilterSelect } from "../../parts/filters";
import { compare, grouped } from "../../words/decimal";
import { modeMeaning, modeName, policyMeaning, ruleMeaning } from "../../words/terms";

interface Props {
  pool: Pool;
  tried: Tried;
  /** What the engine said of the last try. */
  error: ApiError | null;
  busy: boolean;
  onChange: (tried: Tried) => void;
}

const policies: readonly Policy[] = ["hard", "soft", "burst"];
const modes: readonly Mode[] = ["enforce", "observe", "off"];
const rules: readonly Rule[] = ["threshold", "guarantee"];

const nameOf = (apiKeyId: string): string => (apiKeyId === "*" ? "everyone else" : apiKeyId);

/** The rules that are tried: those of the pool, until somebody changes them. */
export function RulesForm({ pool, tried, error, busy, onChange }: Props) {
  const changes = differences(pool, tried);
  return (
    <section class="card trial" aria-label="Rules to try">
      <ul class="trial-rows">
        {tried.allocations.map((a, place) => (
          <AllocationRow key={a.apiKeyId} of={a} was={pool.allocations[place]?.weight} place={place} error={error} onChange={(change) => onChange(withAllocation(tried, a.apiKeyId, change))} />
        ))}
      </ul>
      <div class="trial-sum">
        <WeightSum tried={tried} />
        <Button disabled={tried.allocations.length === 0} onClick={() => onChange(split(tried))}>
          Split equally
        </Button>
      </div>
      <div class="trial-pool">
        <FilterSelect label="The pool" value={tried.mode} options={modes.map((mode) => ({ value: mode, text: `${modeName(mode)}: ${modeMeaning(mode)}` }))} onChange={(mode) => onChange({ ...tried, mode: mode as Mode })} />
        <FilterSelect label="Its rule" value={tried.rule} options={rules.map((rule) => ({ value: rule, text: ruleMeaning(rule) }))} onChange={(rule) => onChange({ ...tried, rule: rule as Rule })} />
      </div>
      <div class="trial-foot">
        <Changes of={changes} />
        <div class="trial-actions">
          <Button disabled={changes.length === 0} onClick={() => onChange(triedOf(pool))}>
            Undo changes
          </Button>
          <Button kind="primary" type="submit" busy={busy}>
            {busy ? "Reading the log" : "Try it"}
          </Button>
        </div>
      </div>
    </section>
  );
}

function AllocationRow({ of: a, was, place, error, onChange }: {
  of: TriedAllocation;
  was: number | undefined;
  place: number;
  error: ApiError | null;
  onChange: (change: Partial<TriedAllocation>) => void;
}) {
  const problem = error?.problemOf(faultField(place, "weight")) ?? "";
  const name = nameOf(a.apiKeyId);
  return (
    <li class="trial-row">
      <span class="trial-key">{name}</span>
      <label class="trial-weight">
        <span class="field-label">Weight</span>
        <input
          class="input"
          inputMode="decimal"
          value={a.weight}
          aria-label={`Weight of ${name}`}
          aria-invalid={problem !== ""}
          title={was === undefined ? undefined : `It is ${was} now`}
          onInput={(event) => onChange({ weight: event.currentTarget.value })}
        />
      </label>
      <label class="trial-policy">
        <span class="field-label">Policy</span>
        <select class="input" value={a.policy} aria-label={`Policy of ${name}`} onChange={(event) => onChange({ policy: event.currentTarget.value as Policy })}>
          {policies.map((policy) => (
            <option key={policy} value={policy} selected={policy === a.policy}>
              {policyMeaning(policy)}
            </option>
          ))}
        </select>
      </label>
      <label class="trial-suspended">
        <input type="checkbox" checked={a.suspended} aria-label={`Suspend ${name}`} onChange={(event) => onChange({ suspended: event.currentTarget.checked })} />
        suspended
      </label>
      {problem && (
        <p class="field-problem" role="status">
          {`The weight ${problem}`}
        </p>
      )}
    </li>
  );
}

function WeightSum({ tried }: { tried: Tried }) {
  const all = weightSum(tried);
  if (all === null) return <p class="warn-text">A weight is no number of 0 or more.</p>;
  const side = compare(all, 100);
  const means = side === 0 ? "" : side < 0 ? ": what lacks to 100 is nobody's share" : ": each weight is a part of this sum";
  return <p class={side === 0 ? "soft" : "warn-text"}>{`The weights sum to ${grouped(all)}${means}.`}</p>;
}

function Changes({ of: changes }: { of: readonly Difference[] }) {
  if (changes.length === 0) return <p class="soft">Nothing is changed: this tries the rules of now on what happened.</p>;
  return (
    <ul class="trial-changes" aria-label="What is changed">
      {changes.map((change) => (
        <li key={change.what}>
          {change.what}: {change.before} → <strong>{change.after}</strong>
        </li>
      ))}
    </ul>
  );
}
