import { useState } from "preact/hooks";
import type { Plan } from "../../api/types";
import { href } from "../../app/route";
import { Page } from "../../app/page";
import { appended, replaced, without } from "../../model/draft";
import { type DimensionDraft, nextDimension, planDocument, planDraft } from "../../model/plandraft";
import { Button, ButtonLink } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Effects } from "../../parts/effects";
import { Field } from "../../parts/field";
import { When } from "../../parts/figures";
import { Icon } from "../../parts/icon";
import { ErrorNotice, Notice } from "../../parts/notice";
import { Waiting } from "../../parts/waiting";
import { useSession } from "../../state/session";
import { useAnswer, useTrial, useWriting } from "../../state/trial";
import { planOrigin } from "../../words/plan";
import { windowName } from "../../words/terms";
import { unitTitle, units, windows } from "../../words/units";
import { SourceTag } from "./source";

/** The plan of one connection: what it is now, where that comes from, and how to change it. */
export function PlanPage({ connectionId }: { connectionId: string }) {
  const { api } = useSession();
  const { value: plan, error, again } = useAnswer(connectionId, () => api.plans.get(connectionId));
  return (
    <Page title={`Plan of ${connectionId}`} lead={plan ? <About plan={plan} /> : undefined} actions={<ButtonLink href={href("plans")}>All plans</ButtonLink>}>
      {error && <ErrorNotice title="The plan could not be read" error={error} />}
      {!plan && !error && <Waiting label="The plan is being read" cards={1} />}
      {plan && <PlanEditor key={`${plan.revision}/${plan.source}`} plan={plan} onChanged={again} />}
    </Page>
  );
}

function About({ plan }: { plan: Plan }) {
  return (
    <>
      {plan.provider || "Nobody said whose it is"} · {plan.poolId === null ? "in no pool" : <>in the pool <a href={href("pool", plan.poolId)}>{plan.poolId}</a></>}
    </>
  );
}

function PlanEditor({ plan, onChanged }: { plan: Plan; onChanged: () => void }) {
  const { api } = useSession();
  const [draft, setDraft] = useState(planDraft(plan));
  const [reverting, setReverting] = useState(false);
  const [reason, setReason] = useState("");
  const writing = useWriting();
  const document = planDocument(draft);
  const changed = JSON.stringify(document) !== JSON.stringify(planDocument(planDraft(plan)));
  const trial = useTrial(changed ? JSON.stringify(document) : null, () => api.plans.tryPut(plan.connectionId, document));
  const save = (): void =>
    writing.run(() => api.plans.put(plan.connectionId, document, { revision: plan.revision, reason }), onChanged);
  const set = (row: number, to: Partial<DimensionDraft>): void => setDraft(replaced(draft, row, to));
  const lost = writing.error?.code === "lost-race";
  return (
    <div class="plan-editor">
      <Origin plan={plan} />
      <section class="card plan-panel">
        <h2>What it may use</h2>
        {draft.length === 0 && <p class="soft">Nothing is counted: a plan without a line limits nothing.</p>}
        <ul class="plan-rows">
          {draft.map((d, place) => (
            <DimensionRow
              key={d.row}
              of={d}
              problem={(name) => trial.error?.problemOf(`dimensions[${place}].${name}`) ?? ""}
              onChange={(to) => set(d.row, to)}
              onRemove={() => setDraft(without(draft, d.row))}
            />
          ))}
        </ul>
        <div>
          <Button onClick={() => setDraft(appended<DimensionDraft>(draft, { ...nextDimension(draft, units, windows), limit: "" }))}>Add a limit</Button>
        </div>
        <div class="plan-said" aria-live="polite">
          {!changed && <p class="soft">Nothing is changed yet.</p>}
          {trial.value && <Effects trial={trial.value} poolName={(id) => id} />}
          {trial.value && <Warnings of={trial.value.plan} />}
          {trial.error && trial.error.faults.length === 0 && <ErrorNotice title="This cannot be tried" error={trial.error} />}
          {trial.error && trial.error.faults.length > 0 && <p class="soft">Not everything is right yet: {trial.error.message}</p>}
        </div>
        {writing.error && (
          <ErrorNotice
            title={lost ? "Somebody else changed this plan meanwhile" : "Not saved"}
            error={writing.error}
            actions={lost && <Button onClick={onChanged}>Take theirs, drop mine</Button>}
          />
        )}
        <Field label="Why" hint="Kept in the log with the change.">
          {(control) => <input {...control} class="input" value={reason} onInput={(e) => setReason(e.currentTarget.value)} autocomplete="off" />}
        </Field>
        <div class="plan-actions">
          <Button kind="primary" disabled={!changed} busy={writing.busy} onClick={save}>
            Save the plan
          </Button>
          {plan.source === "manual" && (
            <Button kind="danger" onClick={() => setReverting(true)}>
              Revert…
            </Button>
          )}
        </div>
      </section>
      {reverting && <RevertDialog plan={plan} onClose={() => setReverting(false)} onReverted={onChanged} />}
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
      <ul>
        {warnings.map(({ field, problem }) => (
          <li key={field + problem}>
            <code>{field}</code> {problem}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

interface RowProps {
  of: DimensionDraft;
  problem: (name: string) => string;
  onChange: (to: Partial<DimensionDraft>) => void;
  onRemove: () => void;
}

function DimensionRow({ of: d, problem, onChange, onRemove }: RowProps) {
  return (
    <li class="plan-row">
      <Field label="At most" hint={d.limit.trim() === "" ? "Empty: counted, not limited." : ""} problem={problem("limit")}>
        {(control) => (
          <input {...control} class="input plan-limit" inputMode="decimal" placeholder="not known" value={d.limit} onInput={(e) => onChange({ limit: e.currentTarget.value })} autocomplete="off" />
        )}
      </Field>
      <Field label="Of" problem={problem("unit")}>
        {(control) => (
          <select {...control} class="input" value={d.unit} onChange={(e) => onChange({ unit: e.currentTarget.value as DimensionDraft["unit"] })}>
            {units.map((unit) => (
              <option key={unit} value={unit}>
                {unitTitle(unit)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Per" problem={problem("window")}>
        {(control) => (
          <select {...control} class="input" value={d.window} onChange={(e) => onChange({ window: e.currentTarget.value as DimensionDraft["window"] })}>
            {windows.map((window) => (
              <option key={window} value={window}>
                {windowName(window)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Button kind="quiet" label={`Remove the limit on ${unitTitle(d.unit)} per ${windowName(d.window)}`} onClick={onRemove}>
        <Icon name="close" />
      </Button>
    </li>
  );
}

function RevertDialog({ plan, onClose, onReverted }: { plan: Plan; onClose: () => void; onReverted: () => void }) {
  const { api } = useSession();
  const trial = useAnswer(plan.connectionId, () => api.plans.tryRevert(plan.connectionId));
  const writing = useWriting();
  const revert = (): void =>
    writing.run(
      () => api.plans.revert(plan.connectionId, { revision: plan.revision }),
      () => {
        onClose();
        onReverted();
      },
    );
  return (
    <Dialog
      title={`Take back the plan of ${plan.connectionId}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button kind="danger" busy={writing.busy} onClick={revert}>
            {writing.error ? "Try again" : "Revert the plan"}
          </Button>
        </>
      }
    >
      <p>The connection then has what its provider is known to sell, or no limit where that is not known.</p>
      {trial.value && <Effects trial={trial.value} poolName={(id) => id} />}
      {trial.error && <ErrorNotice title="What it would do could not be found out" error={trial.error} />}
      {writing.error && <ErrorNotice title="Not reverted" error={writing.error} />}
    </Dialog>
  );
}
