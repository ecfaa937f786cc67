import { useEffect, useRef, useState } from "preact/hooks";
import { Page } from "../../app/page";
import type { PageProps } from "../../app/pages";
import { go } from "../../app/route";
import type { DecisionFilter, DecisionPage, RecordedDecision } from "../../api/answers";
import type { Api } from "../../api/client";
import { ApiError, unreachable } from "../../api/error";
import { decisionFilter, type Filters, merged, withFilter } from "../../model/filters";
import { firstFound } from "../../model/pages";
import { Button } from "../../parts/button";
import { Empty } from "../../parts/empty";
import { ErrorNotice, Notice } from "../../parts/notice";
import { Waiting } from "../../parts/waiting";
import { type Answered, useAnswer } from "../../state/answer";
import { type Session, useSession } from "../../state/session";
import { count } from "../../words/amount";
import { instant } from "../../words/time";
import { DecisionFilters } from "./filters";
import { DecisionTable } from "./table";

const pageSize = 100;

/** A block is in the list a second after it was answered. */
const settle = 1_500;

/** What was answered: every block, and a sample of the rest. */
export function DecisionsPage({ query }: PageProps) {
  const session = useSession();
  const asked = JSON.stringify(query);
  const newest = useNewest(session, query, asked);
  const older = useOlder(session, query, asked);
  const first = newest.answer?.decisions ?? null;
  const rows = merged(first ?? [], older.rows, (row) => row.decisionId);
  const next = older.next === undefined ? newest.answer?.next : older.next;
  return (
    <Page title="Decisions" lead="What the engine answered: every block of the last 14 days, and a sample of what it let pass. Equal blocks of one second are one row.">
      <DecisionFilters filters={query} onChange={(name, value) => go("decisions", "", withFilter(query, name, value))} />
      {session.store.missed.value && <Notice tone="warn" title="Some blocks were not told to this page">{session.store.missed.value}</Notice>}
      {newest.error && <ErrorNotice title="The decisions could not be read" error={newest.error} />}
      {first === null && newest.busy && <Waiting label="The decisions are being read" cards={1} />}
      {first !== null && !newest.error && <Found rows={rows} narrowed={Object.keys(query).length > 0} more={typeof next === "string"} />}
      {older.error && <ErrorNotice title="Older decisions could not be read" error={older.error} />}
      {next && (
        <div>
          <Button busy={older.busy} onClick={() => void older.more(next)}>
            {rows.length > 0 ? "Show older ones" : "Look further back"}
          </Button>
        </div>
      )}
    </Page>
  );
}

function Found({ rows, narrowed, more }: { rows: readonly RecordedDecision[]; narrowed: boolean; more: boolean }) {
  if (rows.length === 0) {
    return (
      <Empty title={narrowed ? "None like that" : "Nothing was blocked"}>
        <p>{narrowed ? `No ${more ? "decision that was looked at" : "recorded decision"} is as the filters say.${more ? " Older ones may be." : ""}` : "Blocks will be listed here when they happen, without a reload."}</p>
      </Empty>
    );
  }
  return (
    <>
      <DecisionTable rows={rows} />
      <p class="faint" role="status">
        {count(rows.length, "row")}, the newest first
      </p>
    </>
  );
}

/** Processes store what they answered up to half a minute late. */
const late = 60_000;

/** Where the rows begin that a look at what is new must have: never before those that are wanted. */
function since(page: DecisionPage, from: string | undefined): { from?: string } {
  const newest = page.decisions[0];
  if (!newest) return {};
  const begins = instant(newest.time) - late;
  return { from: new Date(Math.max(begins, from === undefined ? begins : instant(from))).toISOString() };
}

/** A page from a place on that has something, if there is any. */
async function list(api: Api, filter: DecisionFilter, before?: string): Promise<DecisionPage> {
  const ask = async (place: string | undefined) => {
    const page = await api.answers.list({ ...filter, ...(place === undefined ? {} : { before: place }) });
    return { rows: page.decisions, next: page.next };
  };
  const { rows, next } = await firstFound(ask, before);
  return { decisions: [...rows], ...(next === undefined ? {} : { next }) };
}

/** The newest page; a moment after something was blocked, what is new comes in front of it. */
function useNewest({ api, store }: Session, query: Filters, asked: string): Answered<DecisionPage> {
  const [round, setRound] = useState(0);
  const known = useRef<{ asked: string; page: DecisionPage } | null>(null);
  const newestBlock = store.blocks.value[0]?.decisionId;
  useEffect(() => {
    if (newestBlock === undefined) return;
    const timer = setTimeout(() => setRound((before) => before + 1), settle);
    return () => clearTimeout(timer);
  }, [newestBlock]);
  const look = async (): Promise<DecisionPage> => {
    const before = known.current?.asked === asked ? known.current.page : null;
    const filter = decisionFilter(query, store.now.peek());
    const fresh = before ? await api.answers.list({ ...filter, ...since(before, filter.from), limit: 1000 }) : await list(api, { ...filter, limit: pageSize });
    const page = before ? { ...before, decisions: merged(fresh.decisions, before.decisions, (row) => row.decisionId) } : fresh;
    known.current = { asked, page };
    return page;
  };
  return useAnswer(look, `${asked} ${round}`);
}

interface Older {
  readonly rows: readonly RecordedDecision[];
  /** Where the next page begins; null when there is none, undefined before the first was asked for. */
  readonly next: string | null | undefined;
  readonly busy: boolean;
  readonly error: ApiError | null;
}

const nothing: Older = { rows: [], next: undefined, busy: false, error: null };

/** What is behind the first page, as far as somebody wanted to see it. */
function useOlder({ api, store }: Session, query: Filters, asked: string): Older & { more(before: string): Promise<void> } {
  const [older, setOlder] = useState<Older & { asked: string }>({ ...nothing, asked });
  const now = older.asked === asked ? older : { ...nothing, asked };
  const more = async (before: string): Promise<void> => {
    setOlder({ ...now, busy: true, error: null });
    try {
      const page = await list(api, { ...decisionFilter(query, store.now.peek()), limit: pageSize }, before);
      setOlder({ asked, busy: false, error: null, rows: [...now.rows, ...page.decisions], next: page.next ?? null });
    } catch (fault) {
      setOlder({ ...now, busy: false, error: fault instanceof ApiError ? fault : unreachable() });
    }
  };
  return { ...now, more };
}
