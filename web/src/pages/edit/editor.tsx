import { useState } from "preact/hooks";
import type { Pool } from "../../api/types";
import { documentOf, type Draft, patchOf } from "../../model/draft";
import { useSession } from "../../state/session";
import { useAnswer, useTrial } from "../../state/trial";
import { Allocations } from "./allocations";
import { Basics } from "./basics";
import { Connections } from "./connections";
import { empty, type FormProps, type PoolTrial, problemOf } from "./form";
import { ModelCaps } from "./modelcaps";
import { Save } from "./save";
import { SharePreview } from "./shares";

interface Props {
  /** The pool as it was read; null for one that is new. */
  base: Pool | null;
  initial: Draft;
  /** Reads the pool again, and begins anew with it. */
  onAgain: () => void;
}

/** The form of a pool. Whatever is typed is tried at once: what is wrong, and who would be blocked, is seen before it is saved. */
export function Editor({ base, initial, onAgain }: Props) {
  const { api } = useSession();
  const [draft, setDraft] = useState(initial);
  const [touched, setTouched] = useState(false);
  const body = base ? patchOf(base, draft) : documentOf(draft);
  const idle = base ? Object.keys(body).length === 0 : !touched;
  const trial: PoolTrial = useTrial(idle ? null : JSON.stringify(body), () =>
    base ? api.pools.tryPatch(base.id, patchOf(base, draft)) : api.pools.tryCreate(documentOf(draft)),
  );
  const form: FormProps = {
    draft,
    change: (change) => {
      setTouched(true);
      setDraft((before) => ({ ...before, ...change }));
    },
    problem: (field) => problemOf(trial.error, field, base === null && empty(draft, field)),
  };
  const seen = useAnswer("seen", async () => ({ plans: await api.plans.list(), keys: await api.log.keys(), connections: await api.log.connections() }));
  return (
    <div class="editor">
      <div class="editor-form">
        <Basics {...form} isNew={base === null} catalogue={seen.value?.plans.catalogue ?? []} />
        <Connections {...form} seen={seen.value?.connections ?? []} poolId={base?.id ?? ""} />
        <Allocations {...form} keys={seen.value?.keys ?? []} plans={seen.value?.plans ?? null} />
        <ModelCaps {...form} />
      </div>
      <aside class="editor-side" aria-label="What this comes to">
        <SharePreview draft={draft} plans={seen.value?.plans ?? null} error={seen.error} />
        <Save base={base} draft={draft} trial={trial} idle={idle} onAgain={onAgain} />
      </aside>
    </div>
  );
}
