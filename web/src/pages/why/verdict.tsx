import { href } from "../../app/route";
import type { Explanation } from "../../api/answers";
import { endsBecause } from "../../model/ending";
import { When } from "../../parts/figures";
import { Notice } from "../../parts/notice";
import { Tag } from "../../parts/tag";
import { useSession } from "../../state/session";
import { exactAmount } from "../../words/amount";
import { keyName } from "../../words/keys";
import { answered } from "../../words/reply";
import { detailLong } from "../../words/rule";
import { degradedReason, endsByItself, reasonLong } from "../../words/terms";
import { units } from "../../words/units";

/** What was answered; where nobody asked, what would have been. */
function happened({ reply, recorded }: Explanation): string {
  if (reply.wouldBlock) return "would have been blocked";
  const what = reply.decision === "block" ? "blocked" : "allowed";
  return recorded ? `was ${what}` : `would be ${what}`;
}

/** "on kimi-berlin", "in the pool Kimi for the team". */
function where({ question, recorded, reply, rules }: Explanation): string {
  const connectionId = question.connectionId ?? recorded?.connectionId ?? reply.connectionId;
  if (connectionId) return `on ${connectionId}`;
  return question.pool ? `in the pool ${rules.pool?.name ?? question.pool}` : "";
}

/** "ci-runner was blocked on kimi-berlin with k2, for 800 tokens". */
function headline(e: Explanation): string {
  const { apiKeyId, model, estimate } = e.question;
  const size = units.flatMap((unit) => (estimate?.[unit] === undefined ? [] : [exactAmount(estimate[unit], unit)])).join(" and ");
  const said = [keyName(apiKeyId), happened(e), where(e), model && `with ${model}`].filter(Boolean).join(" ");
  return size ? `${said}, for ${size}` : said;
}

/** The answer in short, and what its caller was told. */
export function Verdict({ of: e }: { of: Explanation }) {
  const minute = useSession().store.minute.value;
  const { reply, recorded } = e;
  const said = answered(reply, minute);
  const blocks = reply.decision === "block" || reply.wouldBlock;
  return (
    <section class={`card outcome ${said.tone}`}>
      <div class="outcome-head">
        <h2>{headline(e)}</h2>
        <Tag tone={said.tone}>{said.text}</Tag>
      </div>
      <p>{detailLong(e) || reasonLong(reply.reason, reply.binding)}</p>
      {blocks && <Ending of={e} />}
      <Others of={e} />
      {reply.degraded?.map((d) => <p key={d}>{`The answer may be off: ${degradedReason(d)}.`}</p>)}
      {reply.message && (
        <figure class="why-told">
          <figcaption class="faint">{recorded ? "What its caller was told" : "What its caller would be told"}</figcaption>
          <blockquote>{reply.message}</blockquote>
        </figure>
      )}
      <p class="faint">
        {recorded ? "Answered at " : "As of "}
        <When at={recorded?.time ?? reply.asOf.time} as="clock" />
        {`, after message ${reply.asOf.seq} of the log. `}
        {recorded && <Recorded of={e} />}
      </p>
      {blocks && e.rules.pool && (
        <p>
          <a href={href("whatif", "", { pool: e.rules.pool.id })}>Try other rules on what happened</a>
        </p>
      )}
      {e.differs && e.differs.length > 0 && (
        <Notice tone="bad" title="The log gives another answer than was recorded">
          <p>{`These fields come out otherwise: ${e.differs.join(", ")}.`}</p>
        </Notice>
      )}
    </section>
  );
}

/** "Until 16:08:56, if nobody uses anything more: by then …" */
function Ending({ of: e }: { of: Explanation }) {
  const { reason, retryAt } = e.reply;
  if (retryAt === undefined) return <p>{endsByItself(reason) ? "Nobody can say when it ends: time alone does not end it." : "It does not end by itself."}</p>;
  const why = endsBecause(e);
  return (
    <p>
      {"Until "}
      <When at={retryAt} as="clock" />
      {`, if nobody uses anything more${why && `: ${why}`}.`}
    </p>
  );
}

/** Who else may have room, of those who could be asked instead. */
const elsewhere: Partial<Record<NonNullable<Explanation["reply"]["scope"]>, string>> = {
  connection: "Other connections may have room.",
  model: "Other models may have room.",
};

/** Where else it would have been allowed. */
function Others({ of: { question, reply } }: { of: Explanation }) {
  const all = reply.alternatives ?? [];
  if (all.length === 0) return reply.scope && elsewhere[reply.scope] ? <p>{elsewhere[reply.scope]}</p> : null;
  const also = question.connectionId !== undefined && reply.decision === "allow";
  return <p>{`${also ? "Also allowed on" : "Allowed on"}: ${all.join(", ")}.`}</p>;
}

function Recorded({ of: { recorded, differs, unproved } }: { of: Explanation }) {
  if (!recorded) return null;
  const times = recorded.count === 1 ? "once" : `${recorded.count} times within a second`;
  if (unproved) return <span>{`Given ${times} by process ${recorded.process}. It cannot be derived again, as the log lacks messages.`}</span>;
  if (differs && differs.length > 0) return <span>{`Given ${times} by process ${recorded.process}.`}</span>;
  const again = recorded.replyOf ? "one of several equal ones within a second, and what is recorded of all of them comes out of the log again" : "and the same answer comes out of the log again";
  return <span>{`Given ${times} by process ${recorded.process}, ${again}.`}</span>;
}
