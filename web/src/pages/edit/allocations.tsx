import { useId } from "preact/hooks";
import type { Policy, SeenKey } from "../../api/types";
import { type AllocationDraft, appended, freshAllocation, replaced, without } from "../../model/draft";
import { equalWeights, typed } from "../../model/share";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { useRowFocus } from "../../parts/rowfocus";
import { count } from "../../words/amount";
import { keyName } from "../../words/effect";
import { policyMeaning } from "../../words/terms";
import type { Said } from "../../words/verdict";
import { weightPart, weightSum } from "../../words/weights";
import { Caps, withCap } from "./caps";
import type { FormProps } from "./form";

interface Props extends FormProps {
  keys: readonly SeenKey[];
}

/** The weights as numbers; what is none yet counts as nothing. */
export function weightsOf(list: readonly AllocationDraft[]): string[] {
  return list.map((a) => typed(a.weight) ?? "0");
}

/** What the weights come to; first of all whether each key has one. */
function weightsSaid(list: readonly AllocationDraft[], weights: readonly string[]): Said {
  const without = list.filter(({ weight }) => typed(weight) === null).length;
  if (without === 0) return weightSum(weights);
  return { tone: "warn", text: `${count(without, "key")} ${without === 1 ? "has" : "have"} no weight: type one, or split equally.` };
}

/** Who has which part. */
export function Allocations({ draft, change, problem, keys }: Props) {
  const id = useId();
  const list = draft.allocations;
  const rows = useRowFocus<HTMLUListElement>(list.length);
  const weights = weightsOf(list);
  const said = weightsSaid(list, weights);
  const equal = equalWeights(list.length);
  const has = new Set(list.map((a) => a.apiKeyId));
  const add = (apiKeyId: string): void => change({ allocations: appended<AllocationDraft>(list, { ...freshAllocation, apiKeyId }) });
  return (
    <section class="card panel" aria-labelledby={`${id}-title`}>
      <div>
        <h2 id={`${id}-title`}>Shares</h2>
        <p class="soft">A weight of 40 is 40 % of the limit, as long as all of them sum to 100 or less.</p>
      </div>
      <datalist id={id}>
        {keys.filter((key) => !has.has(key.apiKeyId)).map((key) => (
          <option key={key.apiKeyId} value={key.apiKeyId} />
        ))}
      </datalist>
      <ul class="rows" ref={rows}>
        {list.map((a, place) => (
          <AllocationRow
            key={a.row}
            of={a}
            place={place}
            part={typed(a.weight) === null ? "" : weightPart(weights[place] ?? "0", weights)}
            known={id}
            problem={problem}
            onChange={(to) => change({ allocations: replaced(list, a.row, to) })}
            onRemove={() => change({ allocations: without(list, a.row) })}
          />
        ))}
      </ul>
      <p class={`weight-sum ${said.tone}-text`} role="status">
        {said.text}
      </p>
      <div class="panel-actions">
        <Button onClick={() => add("")}>Add a key</Button>
        <Button onClick={() => add("*")} disabled={has.has("*")}>
          Add everyone else
        </Button>
        <Button onClick={() => change({ allocations: list.map((a, place) => ({ ...a, weight: equal[place] ?? "0" })) })} disabled={list.length === 0}>
          Split equally
        </Button>
      </div>
    </section>
  );
}

interface RowProps {
  of: AllocationDraft;
  place: number;
  part: string;
  known: string;
  problem: (field: string) => string;
  onChange: (to: Partial<AllocationDraft>) => void;
  onRemove: () => void;
}

const policies: readonly Policy[] = ["hard", "soft", "burst"];

function AllocationRow({ of: a, place, part, known, problem, onChange, onRemove }: RowProps) {
  const at = `allocations[${place}]`;
  const everyone = a.apiKeyId === "*";
  return (
    <li class="allocation">
      <div class="row allocation-row">
        <Field label="Key" hint={everyone ? "All keys without a share of their own, together." : ""} problem={problem(`${at}.apiKeyId`)}>
          {(control) => <input {...control} class="input" list={known} value={a.apiKeyId} onInput={(e) => onChange({ apiKeyId: e.currentTarget.value })} autocomplete="off" />}
        </Field>
        <Field label="Weight" hint={part} problem={problem(`${at}.weight`)}>
          {(control) => <input {...control} class="input number-input" inputMode="decimal" value={a.weight} onInput={(e) => onChange({ weight: e.currentTarget.value })} autocomplete="off" />}
        </Field>
        <Field label="Above its share" hint={`It ${policyMeaning(a.policy).replace(/^\w+: /, "")}.`} problem={problem(`${at}.policy`)}>
          {(control) => (
            <select {...control} class="input" value={a.policy} onChange={(e) => onChange({ policy: e.currentTarget.value as Policy })}>
              {policies.map((policy) => (
                <option key={policy} value={policy}>
                  {policy}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Button kind="quiet" label={`Remove ${keyName(a.apiKeyId) || "this key"}`} onClick={onRemove}>
          <Icon name="close" />
        </Button>
      </div>
      <Caps of={a} place={place} problem={problem} onChange={(caps) => onChange({ caps })} />
      <div class="allocation-more">
        <label class="check">
          <input type="checkbox" checked={a.suspended} onChange={(e) => onChange({ suspended: e.currentTarget.checked })} />
          Suspended: blocked whatever it used
        </label>
        <Button kind="quiet" onClick={() => onChange({ caps: withCap(a.caps) })}>
          Add a cap
        </Button>
      </div>
    </li>
  );
}
