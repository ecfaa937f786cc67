import { useId } from "preact/hooks";
import type { SeenConnection } from "../../api/types";
import { appended, type ConnectionDraft, freshConnection, replaced, without } from "../../model/draft";
import { Button } from "../../parts/button";
import { Field } from "../../parts/field";
import { Icon } from "../../parts/icon";
import { useRowFocus } from "../../parts/rowfocus";
import type { FormProps } from "./form";

interface Props extends FormProps {
  seen: readonly SeenConnection[];
  poolId: string;
}

/** The accounts of the pool. The first says what is counted. */
export function Connections({ draft, change, problem, seen, poolId }: Props) {
  const id = useId();
  const rows = useRowFocus<HTMLUListElement>(draft.connections.length);
  const taken = new Set(draft.connections.map((c) => c.connectionId));
  const free = seen.filter((c) => (c.poolId === null || c.poolId === poolId) && !taken.has(c.connectionId));
  const set = (row: number, to: Partial<ConnectionDraft>): void => change({ connections: replaced(draft.connections, row, to) });
  return (
    <section class="card panel" aria-labelledby={`${id}-title`}>
      <div>
        <h2 id={`${id}-title`}>Accounts</h2>
        <p class="soft">The connections whose limits are shared. The first says what is counted; the limits of all are added up.</p>
        <p class="field-hint">
          Turns is how often a connection is chosen, compared with the others. At once is how many requests may be under way on it.
        </p>
      </div>
      <datalist id={id}>
        {free.map((c) => (
          <option key={c.connectionId} value={c.connectionId} />
        ))}
      </datalist>
      <ul class="rows" ref={rows}>
        {draft.connections.map((c, place) => (
          <li key={c.row} class="row connection-row">
            <Field label="Connection" problem={problem(`connections[${place}].connectionId`)}>
              {(control) => <input {...control} class="input" list={id} value={c.connectionId} onInput={(e) => set(c.row, { connectionId: e.currentTarget.value })} autocomplete="off" />}
            </Field>
            <Field label="Turns" problem={problem(`connections[${place}].weight`)}>
              {(control) => (
                <input {...control} class="input number-input" inputMode="numeric" placeholder="100" value={c.weight} onInput={(e) => set(c.row, { weight: e.currentTarget.value })} autocomplete="off" />
              )}
            </Field>
            <Field label="At once" problem={problem(`connections[${place}].maxConcurrent`)}>
              {(control) => (
                <input {...control} class="input number-input" inputMode="numeric" placeholder="no bound" value={c.maxConcurrent} onInput={(e) => set(c.row, { maxConcurrent: e.currentTarget.value })} autocomplete="off" />
              )}
            </Field>
            <Button kind="quiet" label={`Remove the connection ${c.connectionId}`} onClick={() => change({ connections: without(draft.connections, c.row) })}>
              <Icon name="close" />
            </Button>
            {place > 0 && (
              <div class="row-more">
                <Button kind="quiet" onClick={() => change({ connections: [c, ...without(draft.connections, c.row)] })}>
                  Make it the first
                </Button>
              </div>
            )}
          </li>
        ))}
      </ul>
      <div class="panel-actions">
        <Button onClick={() => change({ connections: appended(draft.connections, freshConnection) })}>Add a connection</Button>
      </div>
    </section>
  );
}
