import { href } from "../../app/route";
import type { RecordedDecision } from "../../api/answers";
import { When } from "../../parts/figures";
import { type Column, Table } from "../../parts/table";
import { Tag } from "../../parts/tag";
import { useSession } from "../../state/session";
import { grouped } from "../../words/decimal";
import { answeredShort } from "../../words/reply";
import { dimensionName, reasonShort } from "../../words/terms";
import "../../parts/answer.css";

/** "over its fair share, requests per hour", and until when. */
function why({ reply: { reason, binding, retryAt } }: RecordedDecision) {
  const on = binding && dimensionName(binding);
  return (
    <>
      {[reasonShort(reason), on, binding?.model && `with ${binding.model}`].filter(Boolean).join(", ")}
      {retryAt && (
        <>
          {", "}
          <span class="faint nowrap">
            {"until "}
            <When at={retryAt} as="at" />
          </span>
        </>
      )}
    </>
  );
}

function Verdict({ row }: { row: RecordedDecision }) {
  const said = answeredShort(row.reply);
  return <Tag tone={said.tone}>{said.text}</Tag>;
}

/** The name of the pool, as far as it is still there. */
function PoolName({ id }: { id: string | undefined }) {
  const pools = useSession().store.pools.value;
  if (id === undefined) return <span class="faint">none</span>;
  const pool = pools?.find((one) => one.id === id);
  return pool ? <a href={href("pool", id)}>{pool.name}</a> : <span>{id}</span>;
}

const columns: readonly Column<RecordedDecision>[] = [
  { id: "time", title: "Time", cell: (row) => <When at={row.time} as="clock" /> },
  { id: "decision", title: "Decision", cell: (row) => <Verdict row={row} /> },
  { id: "key", title: "Key", cell: (row) => <span class="break">{row.question.apiKeyId}</span> },
  { id: "connection", title: "Connection", cell: (row) => <span class="break">{row.connectionId ?? <span class="faint">none</span>}</span> },
  { id: "pool", title: "Pool", cell: (row) => <PoolName id={row.poolId} /> },
  { id: "reason", title: "Reason", cell: why },
  { id: "count", title: "Times", right: true, cell: (row) => grouped(String(row.count)) },
  {
    id: "why",
    title: "Why",
    cell: (row) => (
      <a class="nowrap" href={href("why", "", { decision: row.decisionId })} aria-label={`Why ${row.question.apiKeyId} got this answer`}>
        Why?
      </a>
    ),
  },
];

/** Decisions, each with a way to why it was so. */
export function DecisionTable({ rows, caption = "Decisions, the newest first" }: { rows: readonly RecordedDecision[]; caption?: string }) {
  return <Table caption={caption} columns={columns} rows={rows} rowKey={(row) => row.decisionId} />;
}
