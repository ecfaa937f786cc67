import type { ApiError } from "../../api/error";
import type { Plans } from "../../api/types";
import type { Draft } from "../../model/draft";
import { type PoolLimit, poolLimits, shares } from "../../model/share";
import { exactAmount, exactly } from "../../words/amount";
import { compare } from "../../words/decimal";
import { keyName } from "../../words/effect";
import { dimensionTitle } from "../../words/terms";
import { weightsOf } from "./allocations";

interface Props {
  draft: Draft;
  plans: Plans | null;
  error: ApiError | null;
}

/** What each key will get, of everything that is counted. */
export function SharePreview({ draft, plans, error }: Props) {
  const ids = draft.connections.map((c) => c.connectionId.trim()).filter(Boolean);
  const limits = plans ? poolLimits(ids, draft.provider.trim(), plans) : [];
  const weights = weightsOf(draft.allocations);
  const impossible = weights.some((weight) => compare(weight, 100) > 0);
  return (
    <section class="card panel share-preview">
      <h2>What each key will get</h2>
      {error && <p class="bad-text">The plans could not be read: {error.message}</p>}
      {plans && limits.length === 0 && (
        <p class="soft">{ids.length === 0 ? "Name a connection and its provider, and it is worked out." : "No plan says what the first connection may use: there is nothing to share yet."}</p>
      )}
      {impossible && <p class="soft">A weight is above 100: what it would come to is not said.</p>}
      {!impossible && limits.map((limit) => (
        <Dimension key={`${limit.unit}/${limit.window}`} of={limit} draft={draft} weights={weights} />
      ))}
    </section>
  );
}

function Dimension({ of, draft, weights }: { of: PoolLimit; draft: Draft; weights: readonly string[] }) {
  const parts = of.limit === null ? null : shares(of.limit, weights, of.unit);
  return (
    <section>
      <h3>{dimensionTitle(of)}</h3>
      <p class="soft">{of.limit === null ? "The limit is not known, so nobody has a share of it." : `${exactAmount(of.limit, of.unit)} for all`}</p>
      {parts && (
        <dl class="share-list">
          {draft.allocations.map((a, place) => (
            <div key={a.row}>
              <dt>
                {keyName(a.apiKeyId) || "a key without a name"}
                {a.suspended && <span class="faint"> (suspended)</span>}
              </dt>
              <dd>{exactly(parts[place] ?? "0", of.unit)}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
