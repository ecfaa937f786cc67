import type { Pool, Usage } from "../../api/types";
import { href } from "../../app/route";
import { may } from "../../model/may";
import { type Step, type StepName, steps } from "../../model/steps";
import { useAsked } from "../../state/asked";
import { useSession } from "../../state/session";
import { minute, second } from "../../words/time";

const words: Record<StepName, [title: string, how: string]> = {
  events: ["Events are seen", "The gateway publishes what each request used, with one of the pool's connections."],
  readings: ["Readings are seen", "The gateway forwards what the provider says of its limits."],
  asked: ["Decisions are asked for", "The gateway asks before each request whether the key may go on. Only a sample of those allowed is kept, so this tick may take a while."],
  observed: ["The pool observes", "Its mode is “observe” and it knows a limit: what it would block is noted, nobody is blocked."],
  enforced: ["The pool enforces", "Its mode is “enforce”: shares hold."],
};

/** What is still to be done until shares hold. Each step gets its tick when it happens. */
export function FirstSteps({ pool, usage }: { pool: Pool; usage: Usage | null }) {
  const { api, store, who } = useSession();
  const shares = pool.mode === "enforce" && pool.enforcing; // then nobody waits for a tick
  const seen = useAsked(
    `${pool.id} ${pool.revision}`,
    async () => {
      const [connections, page] = await Promise.all([api.log.connections({ pool: pool.id }), api.answers.list({ poolId: pool.id, limit: 1 })]);
      return { events: connections.some((c) => c.lastEventAt !== null), asked: page.decisions.length > 0 };
    },
    shares ? minute : 5 * second,
  ).value;
  if (seen === null) return null;
  const blocked = store.blocks.value.some((b) => b.poolId === pool.id);
  const list = steps(pool, usage, { ...seen, asked: seen.asked || blocked });
  const open = list.filter((step) => !step.done && !step.optional);
  if (open.length === 0) return null;
  // Where shares hold, what is done needs no room any more.
  const shown = shares && seen.events ? open : list;
  return (
    <section class="card first-steps" aria-labelledby="first-steps">
      <div class="section-head">
        <h2 id="first-steps">First steps</h2>
        {may(who.role, "change") && <a href={href("edit", pool.id)}>Change the mode</a>}
      </div>
      <ol>
        {shown.map((step) => (
          <StepRow key={step.name} step={step} />
        ))}
      </ol>
    </section>
  );
}

function StepRow({ step: { name, done, optional } }: { step: Step }) {
  const [title, how] = words[name];
  const state = done ? "done" : optional ? "not needed" : "still to come";
  return (
    <li class={`step ${done ? "done" : ""}`}>
      <span class="step-tick" aria-hidden="true">
        {done ? "✓" : ""}
      </span>
      <span>
        <span class="step-title">
          {title} <span class={done ? "good-text" : "faint"}>{state}</span>
        </span>
        <span class="step-how">{optional && !done ? "The plan has a limit of its own, so it works without." : how}</span>
      </span>
    </li>
  );
}
