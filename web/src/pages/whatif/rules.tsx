import type { WhatIfQuestion } from "../../api/answers";
import type { ApiError } from "../../api/error";
import type { Policy, Rule } from "../../api/types";
import { type Base, type Difference, differences, faultFields, split, type Tried, type TriedAllocation, triedOf, weightSum, withAllocation } from "../../model/trial";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { FilterSelect } from "../../parts/filters";
import { compare, grouped } from "../../words/decimal";
import { keyName } from "../../words/keys";
import { ruleSentences } from "../../words/rule";
import { modeMeaning, modeName, policyMeaning, ruleName } from "../../words/terms";
import { Limits } from "./limits";
import { TriedSettings } from "./settings";

interface Props {
  base: Base;
  tried: Tried;
  /** What was asked last: its faults have its places. */
  put: WhatIfQuestion | null;
  /** What the engine said of that. */
  error: ApiError | null;
  busy: boolean;
  onChange: (tried: Tried) => void;
}

const policies: readonly Policy[] = ["hard", "soft", "burst"];
// What a choice means stands beside it: a field is too short for it on a telephone.
const modes: readonly { value: Tried["mode"]; text: string }[] = [
  ...(["enforce", "observe", "off"] as const).map((mode) => ({ value: mode, text: modeName(mode) })),
  { value: "gone", text: "Gone" },
];

function modeSays(mode: Tried["mode"]): string {
  return mode === "gone" ? "Its connections are in no pool, and nothing limits them: its keys have no shares, caps or policies." : `It ${modeMeaning(mode)}.`;
}

/** The rules that are tried: those in force, until somebody changes them. */
export function RulesForm({ base, tried, put, error, busy, onChange }: Props) {
  const changes = differences(base, tried);
  const gone = tried.mode === "gone";
  const problem = (field: string): string => error?.problemOf(field) ?? "";
  return (
    <section class="card trial" aria-label="Rules to try">
      <FilterSelect label="The pool" value={tried.mode} options={modes} onChange={(mode) => onChange({ ...tried, mode: mode as Tried["mode"] })} />
      <p class="soft">{modeSays(tried.mode)}</p>
      {!gone && <Sharing tried={tried} problem={faultFields.reserve.map(problem).find((text) => text !== "") ?? ""} onChange={onChange} />}
      {!gone && <Allocations base={base} tried={tried} problem={problem} onChange={onChange} />}
      <Limits base={base} tried={tried} problem={(id, place, field) => (put ? problem(faultFields.limit(put, id, place, field)) : "")} onChange={onChange} />
      <TriedSettings base={base} tried={tried} problem={(name) => problem(faultFields.setting(name))} onChange={onChange} />
      <div class="trial-foot">
        <Changes of={changes} />
        <div class="trial-actions">
          <Button disabled={changes.length === 0} onClick={() => onChange(triedOf(base))}>
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

const sharings: readonly { value: Rule; text: string }[] = (["threshold", "guarantee"] as const).map((value) => ({ value, text: capital(ruleName(value)) }));

function Sharing({ tried, problem, onChange }: { tried: Tried; problem: string; onChange: (tried: Tried) => void }) {
  return (
    <>
      <FilterSelect label="How it shares" value={tried.rule} options={sharings} onChange={(rule) => onChange({ ...tried, rule: rule as Rule })} />
      <p class="soft">{ruleSentences(tried.rule)}</p>
      {tried.rule === "guarantee" && (
        <Field label="Reserve" hint="In percent of what is kept free for others: 0 to 400." problem={problem}>
          {(control) => <input {...control} class="input number-input" inputMode="numeric" value={tried.reserve} onInput={(event) => onChange({ ...tried, reserve: event.currentTarget.value })} />}
        </Field>
      )}
    </>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function Allocations({ base, tried, problem, onChange }: { base: Base; tried: Tried; problem: (field: string) => string; onChange: (tried: Tried) => void }) {
  if (tried.allocations.length === 0) return <p class="soft">No key has a share in this pool.</p>;
  return (
    <>
      <ul class="trial-rows">
        {tried.allocations.map((a, place) => (
          <AllocationRow
            key={a.apiKeyId}
            of={a}
            was={base.pool.allocations[place]?.weight}
            problem={problem(faultFields.allocation(place, "weight"))}
            onChange={(change) => onChange(withAllocation(tried, a.apiKeyId, change))}
          />
        ))}
      </ul>
      <div class="trial-sum">
        <WeightSum tried={tried} />
        <Button onClick={() => onChange(split(tried))}>Split equally</Button>
      </div>
    </>
  );
}

function AllocationRow({ of: a, was, problem, onChange }: {
  of: TriedAllocation;
  was: number | undefined;
  problem: string;
  onChange: (change: Partial<TriedAllocation>) => void;
}) {
  const name = keyName(a.apiKeyId);
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
        <span class="field-label">Above its share</span>
        <select class="input" value={a.policy} aria-label={`Policy of ${name}`} onChange={(event) => onChange({ policy: event.currentTarget.value as Policy })}>
          {policies.map((policy) => (
            <option key={policy} value={policy} selected={policy === a.policy}>
              {policy}
            </option>
          ))}
        </select>
        <span class="field-hint">{policyMeaning(a.policy).replace(/^\w+: /, "")}</span>
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
