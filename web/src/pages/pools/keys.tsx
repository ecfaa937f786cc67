import type { KeyUse, KeyVerdict, Pool, Usage, UsedDimension } from "../../api/types";
import { href } from "../../app/route";
import { ownRow } from "../../model/keys";
import { Swatch } from "../../parts/bar";
import { Amount } from "../../parts/figures";
import { useSession } from "../../state/session";
import { count } from "../../words/amount";
import { keyName } from "../../words/keys";
import { shareWords } from "../../words/percent";
import { dimensionName } from "../../words/terms";
import { verdict } from "../../words/verdict";
import { ShareMeter } from "./share";

interface Props {
  pool: Pool;
  usage: Usage;
  /** The dimension that the figures are of. */
  dimension: UsedDimension;
  hues: ReadonlyMap<string, number>;
  /** Whether there are others, so that it has to be said which one this is. */
  several: boolean;
}

/** How many keys a card shows; the page of the pool has all. */
const shown = 6;

/** Each key with what it has used, against its share, and whether it may go on. */
export function KeyList({ pool, usage, dimension: d, hues, several }: Props) {
  const verdicts = new Map(usage.keys.map((key) => [key.apiKeyId, key]));
  const keys = d.perKey.filter(ownRow);
  const rows = keys.slice(0, shown);
  const more = keys.length - rows.length;
  return (
    <div class="keys">
      {several && <p class="keys-of faint">Keys, by {dimensionName(d)}</p>}
      <ul>
        {rows.map((key) => (
          <KeyRow key={key.apiKeyId} of={key} d={d} hue={hues.get(key.apiKeyId) ?? -1} verdict={verdicts.get(key.apiKeyId)} />
        ))}
      </ul>
      {more > 0 && <a href={href("pool", pool.id)}>{count(more, "more key")}</a>}
    </div>
  );
}

function KeyRow({ of, d, hue, verdict: v }: { of: KeyUse; d: UsedDimension; hue: number; verdict: KeyVerdict | undefined }) {
  const minute = useSession().store.minute.value;
  const said = v && verdict(v, minute);
  const as = d.unit === "percent" ? "full" : "short";
  return (
    <li class="key-row">
      <Swatch hue={hue} />
      <span class="key-name">{keyName(of.apiKeyId)}</span>
      <span class="key-used">
        <Amount of={of.consumed} unit={d.unit} as={of.fairShare === null ? as : "short"} />
        {of.fairShare !== null && (
          <span class="faint">
            {" of "}
            <Amount of={of.fairShare} unit={d.unit} as={as} />
          </span>
        )}
      </span>
      <span class="key-meter">
        <ShareMeter of={of} hue={hue} tone="quiet" />
      </span>
      <span class={`key-share ${of.borrowing ? "warn-text" : "faint"}`}>{shareWords(of, d.limit)}</span>
      {said && said.tone !== "good" && <span class={`key-said ${said.tone}-text`}>{said.text}</span>}
    </li>
  );
}
