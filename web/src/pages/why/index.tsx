import { useState } from "preact/hooks";
import { Page } from "../../app/page";
import type { PageProps } from "../../app/pages";
import { go, href } from "../../app/route";
import { patiently } from "../../api/patient";
import type { Explanation } from "../../api/answers";
import { withFilter } from "../../model/filters";
import { instantOf, questionOf } from "../../model/timeline";
import { ButtonLink } from "../../parts/button";
import { Empty } from "../../parts/empty";
import { ErrorNotice } from "../../parts/notice";
import { Waiting } from "../../parts/waiting";
import { useAnswer } from "../../state/answer";
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
  const [opened, setOpened] = useState(() => store.now.peek());
  const [top, setTop] = useState(few);
  const question = questionOf(query, opened);
  const ask = question && ((signal: AbortSignal) => patiently((turn) => api.answers.explain({ ...question, top }, turn), signal));
  const { answer, error, busy } = useAnswer(ask, JSON.stringify([question, top]));
  const shown = shownBy(query, answer, opened);
  const set = (name: string, value: string): void => go("why", "", withFilter(shown.named, name, value));
  return (
    <Page title="Why" lead="Choose a key, a connection and a moment: what the engine answered then, and how it came to that.">
      <WhyForm
        named={shown.named}
        at={shown.at}
        now={opened}
        onName={set}
        onMoment={(at) => set("at", String(at))}
        onNow={() => {
          setOpened(store.now.peek());
          set("at", String(store.now.peek()));
        }}
      />
      {error && <ErrorNotice title="This could not be explained" error={error} />}
      {question === null && <Beginning of={query} />}
      {question !== null && !answer && busy && <Waiting label="The log is being read again" cards={2} />}
      {question !== null && answer && !error && (
        <div class="findings" aria-busy={busy}>
          <Explained of={answer} onMore={top === few ? () => setTop(many) : null} />
        </div>
      )}
    </Page>
  );
}

/** What the form shows: what the address says, or what the decision that it names was about. */
function shownBy(query: Readonly<Record<string, string>>, answer: Explanation | null, opened: number): { named: Record<string, string>; at: number } {
  if (!query["decision"]) {
    const { key = "", connection = "", model = "", at } = query;
    return { named: { key, connection, model, ...(at ? { at } : {}) }, at: instantOf(at) ?? opened };
  }
  if (!answer) return { named: {}, at: opened };
  const { apiKeyId, model = "" } = answer.question;
  const connection = answer.question.connectionId ?? answer.recorded?.connectionId ?? "";
  const at = instant(answer.recorded?.time ?? answer.reply.asOf.time);
  return { named: { key: apiKeyId, connection, model, at: String(at) }, at };
}

/** Before there is a question: what was blocked last is what most people come for. */
function Beginning({ of: query }: { of: Readonly<Record<string, string>> }) {
  const { api } = useSession();
  const { key, connection } = query;
  const filter = { ...(key ? { apiKeyId: key } : {}), ...(connection ? { connectionId: connection } : {}), limit: 20 };
  const { answer, error } = useAnswer(() => api.answers.list(filter), JSON.stringify(filter));
  if (error) return <ErrorNotice title="The last decisions could not be read" error={error} />;
  if (!answer) return <Waiting label="The last decisions are being read" cards={1} />;
  if (answer.decisions.length === 0) {
    return (
      <Empty title="Nothing was blocked yet" actions={<ButtonLink href={href("decisions")}>All decisions</ButtonLink>}>
        <p>Name a key and a connection above to see what would be answered, and why.</p>
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
