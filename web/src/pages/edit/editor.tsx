import { useEffect, useState } from "preact/hooks";
import { useUnsaved } from "../../app/leave";
import type { Pool } from "../../api/types";
import { differences, documentOf, type Draft, draftOf, patchOf } from "../../model/draft";
import { useSession } from "../../state/session";
import { useAnswer, useTrial } from "../../state/trial";
import { listed } from "../../words/poolfield";
import { Allocations } from "./allocations";
import { Basics } from "./basics";
import { Connections } from "./connections";
import { empty, type FormProps, type PoolTrial, problemOf } from "./form";
import { ModelCaps } from "./modelcaps";
import { useOthers } from "./others";
import { ReachPreview } from "./reach";
import { Save } from "./save";
import { SharePreview } from "./shares";

interface Props {
  /** The pool as it was read; null for one that is new. */
  pool: Pool | null;
  initial: Draft;
}

/** The form of a pool. Whatever is typed is tried at once: what is wrong, and who would be blocked, is seen before it is saved. */
export function Editor({ pool, initial }: Props) {
  const { api, store } = useSession();
  const [{ base, draft, news }, setForm] = useState({ base: pool, draft: initial, news: "" });
  const [touched, setTouched] = useState(false);
  const idle = base ? Object.keys(patchOf(base, draft)).length === 0 : !touched;
  useUnsaved(!idle);
  const others = useOthers(base);
  const { newer } = others;
  useEffect(() => {
    if (!idle || !base || !newer) return; // nobody typed anything: then the form is what the pool is
    setForm({ base: newer, draft: draftOf(newer), news: `${newer.actor ?? "Somebody else"} changed ${listed(differences(base, newer))} just now: the form has it` });
  }, [newer, idle]);
  const trial = useDraftTrial(base, draft, idle, newer?.revision ?? 0);
  const form: FormProps = {
    draft,
    change: (change) => {
      setTouched(true);
      setForm((before) => ({ ...before, draft: { ...before.draft, ...change }, news: "" }));
    },
    problem: (field) => problemOf(trial.error, field, base === null && empty(draft, field)),
  };
  const plan = store.changes.value.find(({ kind, rejected }) => kind === "plan" && !rejected);
  const seen = useAnswer(`seen ${plan?.seq ?? ""}`, async () => ({ plans: await api.plans.list(), keys: await api.log.keys(), connections: await api.log.connections() }));
  const from = (to: Pool | null, shown: Draft): void => {
    setTouched(true);
    setForm({ base: to, draft: shown, news: "" });
  };
  return (
    <div class="editor">
      <div class="editor-form">
        <Basics {...form} isNew={base === null} catalogue={seen.value?.plans.catalogue ?? []} />
        <Connections {...form} seen={seen.value?.connections ?? []} poolId={base?.id ?? ""} />
        <Allocations {...form} keys={seen.value?.keys ?? []} />
        <ModelCaps {...form} />
        <ReachPreview draft={draft} />
      </div>
      <aside class="editor-side" aria-label="What this comes to">
        <SharePreview draft={draft} plans={seen.value?.plans ?? null} error={seen.error} />
        <Save base={base} draft={draft} trial={trial} idle={idle} others={others} news={news} onFrom={from} />
      </aside>
    </div>
  );
}

/**
 * What saving would do. It is asked again every minute, and when somebody else
 * changes the pool: who would be blocked now is another in a minute.
 */
function useDraftTrial(base: Pool | null, draft: Draft, idle: boolean, theirs: number): PoolTrial {
  const { api, store } = useSession();
  const body = JSON.stringify(base ? patchOf(base, draft) : documentOf(draft));
  return useTrial(idle ? null : `${base?.revision ?? ""} ${theirs} ${store.minute.value} ${body}`, () =>
    base ? api.pools.tryPatch(base.id, patchOf(base, draft)) : api.pools.tryCreate(documentOf(draft)),
  );
}
