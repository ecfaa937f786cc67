import { useState } from "preact/hooks";
import type { Rejected } from "../../api/types";
import { payload } from "../../model/payload";
import { When } from "../../parts/figures";
import { rejectionMeaning } from "../../words/terms";

/** One event that was rejected; what was sent shows when it is opened. */
export function RejectedEvent({ of: row }: { of: Rejected }) {
  const [open, setOpen] = useState(false);
  return (
    <li class="card">
      <details class="rejected" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class="rejected-what">
            <span class="rejected-message">{row.message}</span>
            <span class="faint">{`It ${rejectionMeaning(row.reason)}`}</span>
          </span>
          <span class="rejected-where">
            <When at={row.time} as="clock" />
            <code>{row.subject}</code>
          </span>
        </summary>
        {open && <Sent row={row} />}
      </details>
    </li>
  );
}

const kinds = { json: "What was sent", text: "What was sent, which is no JSON", bytes: "What was sent, which is no text, byte by byte" } as const;

function Sent({ row }: { row: Rejected }) {
  const sent = payload(row.data);
  const headers = Object.entries(row.headers);
  return (
    <div class="rejected-sent">
      <p class="faint">{`Message ${row.seq} of the log, place ${row.index} in it`}</p>
      {headers.length > 0 && (
        <dl class="rejected-headers">
          {headers.map(([name, values]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{values.join(", ")}</dd>
            </div>
          ))}
        </dl>
      )}
      <h3>{kinds[sent.kind]}</h3>
      <pre class="sent" tabIndex={0}>{sent.text === "" ? "(nothing)" : sent.text}</pre>
      {row.truncated && <p class="soft">It was longer: this is its beginning.</p>}
    </div>
  );
}
