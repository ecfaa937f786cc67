import { useEffect, useState } from "preact/hooks";
import { useUnsaved } from "../../app/leave";
import type { Change, Fault, Plan, Trial } from "../../api/types";
import { href } from "../../app/route";
import { Page } from "../../app/page";
import { appended, replaced, without } from "../../model/draft";
import { changedLimits, type DimensionDraft, mergedPlan, nextDimension, planDocument, planDraft } from "../../model/plandraft";
import { Button, ButtonLink } from "../../parts/button";
import { Effects } from "../../parts/effects";
import { When } from "../../parts/figures";
import { Meanwhile } from "../../parts/meanwhile";
import { ErrorNotice, Notice } from "../../parts/notice";
import { useRowFocus } from "../../parts/rowfocus";
import { Signed } from "../../parts/signed";
import { Waiting } from "../../parts/waiting";
import { useFollowed } from "../../state/followed";
import { usePoolName } from "../../state/poolname";
import { useMay, useSession } from "../../state/session";
import { useSignature } from "../../state/signature";
import { type Answered, useAnswer, useTrial, useWriting } from "../../state/trial";
import { dimensionText, planOrigin } from "../../words/plan";
import { listed } from "../../words/poolfield";
import { dimensionName } from "../../words/terms";
import { units, windows } from "../../words/units";
import { RevertDialog } from "./revert";
import { DimensionRow } from "./row";
import { SourceTag } from "./source";

/** The plan of one connection: what it is now, where that comes from, and how to change it. */
export function PlanPage({ connectionId }: { connectionId: string }) {
  const { api, store } = useSession();
  const may = useMay("change");
  // A pool says whose the connection is, and so what the catalogue has for it.
  const change = store.changes.value.find(({ kind, id, rejected }) => !rejected && (kind === "pool" || (kind === "plan" && id === connectionId)));
  const { value: plan, error, again } = useAnswer(`${connectionId} ${change?.seq ?? ""}`, () => api.plans.get(connectionId));
  return (
    <Page title={`Plan of ${connectionId}`} lead={plan ? <About plan={plan} /> : undefined} actions={<ButtonLink href={href("plans")}>All plans</ButtonLink>}>
      {error && <ErrorNotice title="The plan could not be read" error={error} actions={<Button onClick={again}>Try again</Button>} />}
      {!plan && !error && <Waiting label="The plan is being read" cards={1} />}
      {plan && (may ? <PlanEditor plan={plan} change={change ?? null} onChanged={again} /> : <PlanText plan={plan} />)}
    </Page>
  );
}

function About({ plan }: { plan: Plan }) {
  const poolName = usePoolName();
  return (
    <>
      {plan.provider || "Nobody said whose it is"} · {plan.poolId === null ? "in no pool" : <>in the pool <a href={href("pool", plan.poolId)}>{poolName(plan.poolId)}</a></>}
    </>
  );
}

/** The plan for who may look alone. */
function PlanText({ plan }: { plan: Plan }) {
  return (
    <div class="plan-editor">
      <Origin plan={plan} />
      <section class="card plan-panel">
        <h2>What it may use</h2>
        {plan.dimensions.length === 0 && <p class="soft">Nothing is limited.</p>}
        <ul class="plan-dimensions">
          {plan.dimensions.map((d) => (
            <li key={`${d.unit}/${d.window}`}>{dimensionText(d)}</li>
          ))}
        </ul>
      </section>
    </div>
  );
}

interface EditorProps {
  /** The plan as it was read last. */
  plan: Plan;
  /** What was changed last, of what the plan comes from; null while nothing was. */
  change: Change | null;
  onChanged: () => void;
}

/** Whether two readings are of the same plan: one that is not set by hand has no revision. */
const samePlan = (a: Plan, b: Plan): boolean => a.revision === b.revision && a.source === b.source && JSON.stringify(a.dimensions) === JSON.stringify(b.dimensions);

function PlanEditor({ plan, change, onChanged }: EditorProps) {
  const { api, store } = useSession();
  const [draft, setDraft] = useState(planDraft(plan));
  const [reverting, setReverting] = useState(false);
  const signature = useSignature();
  const writing = useWriting();
  const document = planDocument(draft);
  const idle = (of: Plan): boolean => JSON.stringify(document) === JSON.stringify(planDocument(planDraft(of)));
  const { base, newer, goOn, wrote } = useFollowed(plan, idle, samePlan, (doc) => setDraft(planDraft(doc)));
  const changed = !idle(base);
  useUnsaved(changed);
  const trial = useTrial(changed ? `${plan.revision} ${store.minute.value} ${JSON.stringify(document)}` : null, () => api.plans.tryPut(plan.connectionId, document));
  const written = (): void => {
    wrote();
    signature.onReason("");
    onChanged();
  };
  const from = (rows: readonly DimensionDraft[]): void => {
    writing.forget();
    goOn(plan);
    setDraft(rows);
  };
  const lost = writing.error?.code === "lost-race";
  useEffect(() => {
    if (lost) onChanged(); // the engine knows it before the stream told us
  }, [writing.error]);
  const save = (): void => writing.run(() => api.plans.put(plan.connectionId, document, { ...signature.write, revision: base.revision }), written);
  const merged = newer && mergedPlan(base, draft, newer);
  return (
    <div class="plan-editor">
      <Origin plan={base} />
      <section class="card plan-panel">
        <h2>What it may use</h2>
        <Rows draft={draft} trial={trial} onChange={setDraft} />
        <Said trial={trial} changed={changed} />
        {newer && merged && !writing.busy && (
          <Meanwhile
            by={newer.actor ?? change?.actor}
            what="this plan"
            why={newer.reason ?? change?.reason}
            said={lost ? writing.error : null}
            theirs={limitNames(changedLimits(planDraft(base), planDraft(newer))) || "where it comes from"}
            mine={limitNames(changedLimits(planDraft(base), draft))}
            both={listed(merged.clashes)}
            onBoth={() => from(merged.document)}
            onTheirs={() => from(planDraft(newer))}
          />
        )}
        {writing.error && !(lost && newer) && <ErrorNotice title={lost ? "Somebody else changed this plan meanwhile" : "Not saved"} error={writing.error} />}
        <Signed of={signature} error={writing.error} />
        <div class="plan-actions">
          <Button kind="primary" disabled={!changed} busy={writing.busy} onClick={save}>
            Save the plan
          </Button>
          {base.source === "manual" && (
            <Button kind="danger" onClick={() => setReverting(true)}>
              Revert…
            </Button>
          )}
        </div>
      </section>
      {reverting && <RevertDialog plan={plan} onClose={() => setReverting(false)} onReverted={written} />}
    </div>
  );
}

/** "requests per hour and US dollars per day". */
const limitNames = (limits: readonly Pick<DimensionDraft, "unit" | "window">[]): string => listed(limits.map(dimensionName));

interface RowsProps {
  draft: readonly DimensionDraft[];
  trial: PlanTrial;
  onChange: (to: readonly DimensionDraft[]) => void;
}

type PlanTrial = Answered<Trial & { plan: Plan }>;

function Rows({ draft, trial, onChange }: RowsProps) {
  const rows = useRowFocus<HTMLUListElement>(draft.length);
  return (
    <>
      {draft.length === 0 && <p class="soft">Nothing is counted: a plan without a line limits nothing.</p>}
      <ul class="plan-rows" ref={rows}>
        {draft.map((d, place) => (
          <DimensionRow
            key={d.row}
            of={d}
            problem={(name) => trial.error?.problemOf(`dimensions[${place}].${name}`) ?? ""}
            onChange={(to) => onChange(replaced(draft, d.row, to))}
            onRemove={() => onChange(without(draft, d.row))}
          />
        ))}
      </ul>
      <div>
        <Button onClick={() => onChange(appended<DimensionDraft>(draft, { ...nextDimension(draft, units, windows), limit: "" }))}>Add a limit</Button>
      </div>
    </>
  );
}

/** What saving would do. */
function Said({ trial, changed }: { trial: PlanTrial; changed: boolean }) {
  const poolName = usePoolName();
  return (
    <div class="plan-said" aria-live="polite">
      {!changed && <p class="soft">Nothing is changed yet.</p>}
      {trial.value && <Effects trial={trial.value} poolName={poolName} />}
      {trial.value && <Warnings of={trial.value.plan} />}
      {trial.error && trial.error.faults.length === 0 && <ErrorNotice title="This cannot be tried" error={trial.error} />}
      {trial.error && trial.error.faults.length > 0 && <p class="soft">Not everything is right yet: see what is said beside the fields.</p>}
      {trial.error && <Faults of={trial.error.faults.filter(({ field }) => !/^dimensions\[\d+\]\.\w+$/.test(field))} />}
    </div>
  );
}

/** Where the plan comes from, who set it, and why. */
function Origin({ plan }: { plan: Plan }) {
  return (
    <section class="card plan-panel">
      <div class="plan-origin">
        <h2>Where it comes from</h2>
        <SourceTag plan={plan} />
      </div>
      <p>{planOrigin(plan)}</p>
      {plan.updatedAt && (
        <p class="soft">
          Set <When at={plan.updatedAt} />
          {plan.actor ? ` by ${plan.actor}` : ""}
          {plan.reason ? `: ${plan.reason}` : ""}
        </p>
      )}
      <Warnings of={plan} />
    </section>
  );
}

function Warnings({ of: { warnings } }: { of: Plan }) {
  if (warnings.length === 0) return null;
  return (
    <Notice tone="warn" title="Allowed, and perhaps not meant">
      <Faults of={warnings} />
    </Notice>
  );
}

function Faults({ of }: { of: readonly Fault[] }) {
  return (
    <ul>
      {of.map(({ field, problem }) => (
        <li key={field + problem}>
          <code>{field}</code> {problem}
        </li>
      ))}
    </ul>
  );
}
