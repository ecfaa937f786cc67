import { useState } from "preact/hooks";
import { Page } from "../../app/page";
import type { PageProps } from "../../app/pages";
import { go, href } from "../../app/route";
import type { Explanation } from "../../api/answers";
import type { ApiError } from "../../api/error";
import { withFilter } from "../../model/filters";
import { instantOf, namedBy, outside, questionOf } from "../../model/timeline";
import { AuditState } from "../../parts/audit";
import { Button, ButtonLink } from "../../parts/button";
import { Empty } from "../../parts/empty";
import { ErrorNotice, Notice } from "../../parts/notice";
import { Waiting } from "../../parts/waiting";
import { useAnswer } from "../../state/answer";
import { useAudit } from "../../state/audit";
import { useSession } from "../../state/session";
import { instant } from "../../words/time";
import { DecisionTable } from "../decisions/table";
import { Explained } from "./explained";
import { WhyForm } from "./form";
import "../../parts/answer.css";
import "./why.css";

/** How many events are shown at first, and when somebody wants all. */
const few = 10;
const many = 1000;

/** Why a key was allowed or blocked, in numbers and words. */
export function WhyPage({ query }: PageProps) {
  const { api, store } = useSession();
  const [{ now: opened, round }, setOpened] = useState(() => ({ now: store.now.peek(), round: 0 }));
  const [top, setTop] = useState(few);
  const since = useSince(round, () => setOpened((before) => ({ ...before, now: store.now.peek() })));
  const question = since === undefined ? null : questionOf(query, opened);
  const at = instantOf(query["at"]);
  const beyond = question !== null && !query["decision"] && at !== null && outside(at, opened, since ?? null) === "early";
  const audit = useAudit(question && !beyond ? (signal) => api.answers.explain({ ...question, top }, signal) : null, JSON.stringify([question, top]));
  const shown = shownBy(query, audit.answer, opened);
  const set = (name: string, value: string): void => go("why", "", changed(shown.named, name, value));
  const reading = question !== null && (audit.stage === "reads" || audit.stage === "waits");
  return (
    <Page title="Why" lead="Choose a key, where it asked, and a moment: what the engine answered then, and how it came to that.">
      <WhyForm
        named={shown.named}
        at={shown.at}
        now={opened}
        since={since ?? null}
        round={round}
        onName={set}
        onMoment={(moment) => set("at", String(moment))}
        onNow={() => {
          setOpened({ now: store.now.peek(), round: round + 1 });
          set("at", String(store.now.peek()));
        }}
      />
      <AuditState of={audit} label="The log is being read again" failed="This could not be explained" remedy={(error) => <Remedy of={error} since={since ?? null} onMoment={(moment) => set("at", String(moment))} />} />
      {beyond && (
        <Notice tone="warn" title="The history does not reach back so far" actions={<Button onClick={() => set("at", String(since))}>Go to the beginning</Button>}>
          <p>What was before is not kept: the slider shows from when on anything can be explained.</p>
        </Notice>
      )}
      {since !== undefined && question === null && <Beginning of={query} />}
      {reading && !audit.answer && <Waiting label="The log is being read again" cards={2} />}
      {question !== null && audit.answer && !audit.error && (
        <div class="findings" aria-busy={reading}>
          <Explained of={audit.answer} onMore={top === few ? () => setTop(many) : null} />
        </div>
      )}
    </Page>
  );
}

/**
 * Where the history begins that can be explained, in epoch milliseconds; null
 * when that is not said, undefined while it is not known. `told` is called when
 * the engine has answered: then it is known at last what time it has, and a page
 * that was opened before does not ask about another hour.
 */
function useSince(round: number, told: () => void): number | null | undefined {
  const { api } = useSession();
  const ask = async () => {
    const state = await api.log.state();
    told();
    return state;
  };
  const { answer, error } = useAnswer(ask, String(round));
  if (error) return null; // the question itself tells what is wrong
  if (!answer) return undefined;
  return answer.replayFrom === undefined ? null : instant(answer.replayFrom);
}

/** The names with one of them changed. A connection and a pool are two answers to one question, and a decision has all of its own. */
function changed(named: Readonly<Record<string, string>>, name: string, value: string): Record<string, string> {
  if (name === "decision") return value ? { decision: value } : {};
  const other = value && { connection: "pool", pool: "connection" }[name];
  const { decision: _, ...rest } = named;
  return withFilter(other ? { ...rest, [other]: "" } : rest, name, value);
}

/** What the form shows: what the address says, or what the decision that it names was about. */
function shownBy(query: Readonly<Record<string, string>>, answer: Explanation | null, opened: number): { named: Record<string, string>; at: number } {
  const { decision } = query;
  if (!decision) return { named: { ...query }, at: instantOf(query["at"]) ?? opened };
  if (!answer?.recorded) return { named: { decision }, at: opened };
  const { question, recorded } = answer;
  const at = instant(recorded.time);
  return { named: { ...namedBy({ ...question, ...(recorded.connectionId ? { connectionId: recorded.connectionId } : {}) }), decision, at: String(at) }, at };
}

/** What can be done about a question that has no answer. */
function Remedy({ of: error, since, onMoment }: { of: ApiError; since: number | null; onMoment: (at: number) => void }) {
  if (error.problemOf("at") && since !== null) return <Button onClick={() => onMoment(since)}>Go to the beginning</Button>;
  return error.code === "not-found" ? <ButtonLink href={href("decisions")}>All decisions</ButtonLink> : null;
}

/** Before there is a question: what was blocked last is what most people come for. */
function Beginning({ of: query }: { of: Readonly<Record<string, string>> }) {
  const { api } = useSession();
  const { key, connection, pool } = query;
  const filter = { ...(key ? { apiKeyId: key } : {}), ...(connection ? { connectionId: connection } : {}), ...(pool ? { poolId: pool } : {}), limit: 20 };
  const { answer, error } = useAnswer(() => api.answers.list(filter), JSON.stringify(filter));
  if (error) return <ErrorNotice title="The last decisions could not be read" error={error} />;
  if (!answer) return <Waiting label="The last decisions are being read" cards={1} />;
  if (answer.decisions.length === 0) {
    return (
      <Empty title="Nothing was blocked yet" actions={<ButtonLink href={href("decisions")}>All decisions</ButtonLink>}>
        <p>Name a key, and a connection or a pool, to see what would be answered, and why.</p>
      </Empty>
    );
  }
  return (
    <section class="findings-part">
      <h2>Answered last</h2>
      <DecisionTable rows={answer.decisions} caption="What was answered last" />
    </section>
  );
}
