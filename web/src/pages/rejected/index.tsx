import { useEffect, useState } from "preact/hooks";
import { Page } from "../../app/page";
import type { PageProps } from "../../app/pages";
import { go } from "../../app/route";
import type { Api } from "../../api/client";
import type { Rejected, RejectedFilter } from "../../api/types";
import { rejectedFilter, rejections, withFilter } from "../../model/filters";
import { Button } from "../../parts/button";
import { Empty } from "../../parts/empty";
import { FilterBar, FilterSelect, FilterText } from "../../parts/filters";
import { ErrorNotice } from "../../parts/notice";
import { Waiting } from "../../parts/waiting";
import { useAnswer } from "../../state/answer";
import { useSession } from "../../state/session";
import { count } from "../../words/amount";
import { grouped } from "../../words/decimal";
import { rejectionMeaning } from "../../words/terms";
import { RejectedEvent } from "./event";
import "./rejected.css";

/** How many are shown at first, and how many more at a time. */
const pageSize = 200;

/** How often the engine is asked for that: it looks at a thousand events at a time. */
const looks = 20;

interface Newest {
  readonly rows: readonly Rejected[];
  readonly total: number;
  /** There are older ones that nobody looked at yet. */
  readonly more: boolean;
}

/** The newest that the filters want, in so many looks. Where a filter leaves much out a page has few rows, and is not the last. */
async function newest(api: Api, filter: RejectedFilter, rounds: number, signal: AbortSignal): Promise<Newest> {
  const most = rounds * pageSize;
  const rows: Rejected[] = [];
  let before: number | undefined;
  let total = 0;
  for (let look = 0; look < rounds * looks && rows.length < most; look++) {
    const page = await api.log.rejected({ ...filter, limit: Math.min(1000, most - rows.length), ...(before === undefined ? {} : { before }) }, signal);
    rows.push(...page.rejected);
    total = page.total;
    before = page.next;
    if (before === undefined) break;
  }
  return { rows, total, more: before !== undefined };
}

/** What was sent and could not be counted: nobody's usage has it. */
export function RejectedPage({ query }: PageProps) {
  const { api, store } = useSession();
  const engine = store.engine.value;
  const counted = "counts" in engine ? engine.counts.rejected : 0;
  const filter = rejectedFilter(query);
  const asked = JSON.stringify(filter);
  const [rounds, setRounds] = useState({ asked, n: 1 });
  const n = rounds.asked === asked ? rounds.n : 1;
  const settled = useSettled(counted);
  const { answer, error, busy } = useAnswer((signal) => newest(api, filter, n, signal), `${asked} ${n} ${settled}`);
  const found = answer?.rows ?? [];
  return (
    <Page title="Rejected events" lead="What was sent and could not be counted. Nobody's usage has it: who sent it should mend it, and send it again.">
      <FilterBar label="Which rejected events">
        <FilterSelect
          label="What is wrong"
          value={query["reason"] ?? ""}
          onChange={(reason) => go("rejected", "", withFilter(query, "reason", reason))}
          options={[{ value: "", text: "anything" }, ...rejections.map((reason) => ({ value: reason, text: rejectionMeaning(reason) }))]}
        />
        <FilterText label="With the text" placeholder="in what was sent or said" value={query["text"] ?? ""} onChange={(text) => go("rejected", "", withFilter(query, "text", text))} />
      </FilterBar>
      {error && <ErrorNotice title="The rejected events could not be read" error={error} />}
      {!answer && busy && <Waiting label="The rejected events are being read" cards={1} />}
      {answer && !error && found.length === 0 && <NoneFound all={answer.total} more={answer.more} />}
      {found.length > 0 && !error && (
        <ul class="rejected-list" aria-busy={busy}>
          {found.map((row) => (
            <RejectedEvent key={`${row.seq}/${row.index}`} of={row} />
          ))}
        </ul>
      )}
      {answer && !error && answer.total > 0 && (
        <p class="faint" role="status">
          {`${count(found.length, "event")} shown, the newest first, of ${grouped(String(answer.total))} that ${answer.total === 1 ? "is" : "are"} kept.`}
        </p>
      )}
      {answer?.more && !error && (
        <div>
          <Button busy={busy} onClick={() => setRounds({ asked, n: n + 1 })}>
            {found.length > 0 ? "Show older ones" : "Look further back"}
          </Button>
        </div>
      )}
    </Page>
  );
}

/** Many are rejected in a row: the list is read again when a second has passed. */
function useSettled(n: number): number {
  const [settled, setSettled] = useState(n);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(n), 1_000);
    return () => clearTimeout(timer);
  }, [n]);
  return settled;
}

function NoneFound({ all, more }: { all: number; more: boolean }) {
  const none = more ? "None of the newest rejected events is as the filters say. Older ones may be." : "No rejected event is as the filters say.";
  return (
    <Empty title={all === 0 ? "Nothing was rejected" : "None like that"}>
      <p>{all === 0 ? "Every event that was sent could be counted. What cannot be is listed here, without a reload." : none}</p>
    </Empty>
  );
}
