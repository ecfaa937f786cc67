import type { Explanation } from "../../api/answers";
import { capsBeside, decidedBy, inOrder, type Step, stepOfCap, stepsOf } from "../../model/arithmetic";
import { beforeAll } from "../../model/gates";
import { Notice } from "../../parts/notice";
import { Tag } from "../../parts/tag";
import { dimensionTitle } from "../../words/terms";
import type { Tone } from "../../words/verdict";
import { Consumption } from "./consumption";
import { Sources } from "./sources";
import { Verdict } from "./verdict";

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

/** What applies at all, then each limit that was looked at, step by step; the one that decided first. */
function Arithmetic({ of: e }: { of: Explanation }) {
  const dimensions = inOrder(e);
  const caps = capsBeside(e).flatMap((line) => {
    const step = stepOfCap(e, line);
    return step ? [{ line, step, decided: decidedBy(e, line) }] : [];
  });
  const first = beforeAll(e);
  if (dimensions.length + caps.length + first.length === 0) return null;
  const noted = e.reply.wouldBlock === true;
  const capLines = (decided: boolean) => caps.filter((cap) => cap.decided === decided).map(({ line, step }) => (
    <Line key={`cap ${line.unit}/${line.window}/${line.model ?? ""}`} title={capTitle(line)} decided={decided} noted={noted} steps={[step]} />
  ));
  return (
    <section class="findings-part">
      <h2>The arithmetic</h2>
      <p class="soft">Each limit is looked at by itself, and the strictest answer counts. A request passes if none says no.</p>
      <div class="why-lines">
        {first.length > 0 && <Line title="Before any figure" decided={first.some((step) => step.decided)} noted={noted} steps={first} />}
        {capLines(true)}
        {dimensions.map((d) => (
          <Line key={`${d.unit}/${d.window}`} title={dimensionTitle(d)} decided={decidedBy(e, d)} noted={noted} steps={stepsOf(e, d)} />
        ))}
        {capLines(false)}
      </div>
    </section>
  );
}

function capTitle(line: { unit: Explanation["consumption"][number]["unit"]; window: Explanation["consumption"][number]["window"]; model?: string }): string {
  return line.model === undefined ? `Cap on ${dimensionTitle(line).toLowerCase()}` : `Cap for ${line.model}: ${dimensionTitle(line).toLowerCase()}`;
}

/** noted: the pool observes, and what decides blocks nobody. */
function Line({ title, decided, noted, steps }: { title: string; decided: boolean; noted: boolean; steps: readonly Step[] }) {
  const tone = noted ? "warn" : "bad";
  return (
    <section class={`card why-line${decided ? ` decided ${tone}` : ""}`}>
      <div class="outcome-head">
        <h3>{title}</h3>
        {decided && <Tag tone={tone}>This decided</Tag>}
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
