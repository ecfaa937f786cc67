import { href } from "../../app/route";
import type { Explanation } from "../../api/answers";
import { capsBeside, decidedBy, inOrder, type Step, stepOfCap, stepsOf } from "../../model/arithmetic";
import { Notice } from "../../parts/notice";
import { Tag } from "../../parts/tag";
import { When } from "../../parts/figures";
import { useSession } from "../../state/session";
import { answered } from "../../words/reply";
import { degradedReason, dimensionTitle, endsByItself, reasonLong } from "../../words/terms";
import type { Tone } from "../../words/verdict";
import { Consumption } from "./consumption";
import { Sources } from "./sources";

/** An answer and all that it came from, from the short to the long. */
export function Explained({ of: e, onMore }: { of: Explanation; onMore: (() => void) | null }) {
  return (
    <>
      <Verdict of={e} />
      {e.notes.map((note) => (
        <Notice key={note} tone="warn" title={sentence(note)} />
      ))}
      <Arithmetic of={e} />
      <Consumption of={e} onMore={onMore} />
      <Sources of={e} />
    </>
  );
}

/** A note of the engine as a sentence of its own. */
function sentence(note: string): string {
  return note.charAt(0).toUpperCase() + note.slice(1);
}

/** What was answered; where nobody asked, what would have been. */
function happened({ reply, recorded }: Explanation): string {
  if (reply.wouldBlock) return "would have been blocked";
  const what = reply.decision === "block" ? "blocked" : "allowed";
  return recorded ? `was ${what}` : `would be ${what}`;
}

/** "ci-runner was blocked on kimi-berlin". */
function headline(e: Explanation): string {
  const { apiKeyId, connectionId, pool, model } = e.question;
  const where = connectionId ?? e.recorded?.connectionId ?? pool;
  return [apiKeyId, happened(e), where && `on ${where}`, model && `with ${model}`].filter(Boolean).join(" ");
}

function Verdict({ of: e }: { of: Explanation }) {
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
      <p>{reasonLong(reply.reason, reply.binding)}</p>
      {blocks && !endsByItself(reply.reason) && <p>It does not end by itself.</p>}
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

function Recorded({ of: { recorded, differs } }: { of: Explanation }) {
  if (!recorded) return null;
  const times = recorded.count === 1 ? "once" : `${recorded.count} times within a second`;
  return <span>{`Given ${times} by process ${recorded.process}${differs && differs.length > 0 ? "." : ", and the same answer comes out of the log again."}`}</span>;
}

/** Each limit that was looked at, step by step; the one that decided first. */
function Arithmetic({ of: e }: { of: Explanation }) {
  const dimensions = inOrder(e);
  const caps = capsBeside(e).map((line) => ({ line, step: stepOfCap(e, line) }));
  if (dimensions.length === 0 && caps.length === 0) return null;
  return (
    <section class="findings-part">
      <h2>The arithmetic</h2>
      <div class="why-lines">
        {caps.map(({ line, step }) => step && <Line key={`cap ${line.unit}/${line.window}/${line.model ?? ""}`} title={capTitle(line)} decided={decidedBy(e, line)} steps={[step]} />)}
        {dimensions.map((d) => (
          <Line key={`${d.unit}/${d.window}`} title={dimensionTitle(d)} decided={decidedBy(e, d)} steps={stepsOf(e, d)} />
        ))}
      </div>
    </section>
  );
}

function capTitle(line: { unit: Explanation["consumption"][number]["unit"]; window: Explanation["consumption"][number]["window"]; model?: string }): string {
  return line.model === undefined ? `Cap on ${dimensionTitle(line).toLowerCase()}` : `Cap for ${line.model}: ${dimensionTitle(line).toLowerCase()}`;
}

function Line({ title, decided, steps }: { title: string; decided: boolean; steps: readonly Step[] }) {
  return (
    <section class={`card why-line${decided ? " decided" : ""}`}>
      <div class="outcome-head">
        <h3>{title}</h3>
        {decided && <Tag tone="bad">This decided</Tag>}
      </div>
      <ol class="reckonings">
        {steps.map((step) => (
          <li key={step.id} class={`reckoning${step.decided ? " decided" : ""}`}>
            <StepMark tone={step.tone} />
            <div class="reckoning-text">
              <p class="reckoning-asks">{step.asks}</p>
              <p class="reckoning-figures">{step.figures}</p>
              <p class={step.tone === "good" || step.tone === "quiet" ? "soft" : `${step.tone}-text`}>{step.says}</p>
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

const markPaths: Record<Tone, string> = { good: "M3.5 8.5l3 3 6-7", warn: "M8 3v6M8 12v.1", bad: "M4 4l8 8M12 4l-8 8", quiet: "M4 6h8M4 10h8" };

/** What the step came to, for the eye; the words beside say it too. */
function StepMark({ tone }: { tone: Tone }) {
  return (
    <span class={`reckoning-mark ${tone}`} aria-hidden="true">
      <svg width="16" height="16" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round">
        <path d={markPaths[tone]} />
      </svg>
    </span>
  );
}
