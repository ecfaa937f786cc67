import { useEffect, useState } from "preact/hooks";
import { Page } from "../../app/page";
import type { PageProps } from "../../app/pages";
import { go } from "../../app/route";
import type { Api } from "../../api/client";
import type { Rejected } from "../../api/types";
import { narrowed, rejections, withFilter } from "../../model/filters";
import { Button } from "../../parts/button";
import { Empty } from "../../parts/empty";
import { FilterBar, FilterSelect, FilterText } from "../../parts/filters";
import { ErrorNotice } from "../../parts/notice";
import { Waiting } from "../../parts/waiting";
import { useAnswer } from "../../state/answer";
import { useSession } from "../../state/session";
import { count } from "../../words/amount";
import { rejectionMeaning } from "../../words/terms";
import { RejectedEvent } from "./event";
import "./rejected.css";

const pageSize = 200;

interface Newest {
  readonly rows: readonly Rejected[];
  readonly total: number;
}

/** The newest so many. The API has the oldest first, and its answer says how many there are: so it is asked from the end. */
async function newest(api: Api, most: number): Promise<Newest> {
  const { total } = await api.log.rejected(1, 0);
  const rows: Rejected[] = [];
  for (let offset = Math.max(0, total - most); offset < total; ) {
    const page = await api.log.rejected(Math.min(1000, total - offset), offset);
    rows.push(...page.rejected);
    if (page.rejected.length === 0) break; // the log forgot some meanwhile
    offset += page.rejected.length;
  }
  return { rows: rows.reverse(), total };
}

/** What was sent and could not be counted: nobody's usage has it. */
export function RejectedPage({ query }: PageProps) {
  const { api, store } = useSession();
  const engine = store.engine.value;
  const counted = "counts" in engine ? engine.counts.rejected : 0;
  const [most, setMost] = useState(pageSize);
  const settled = useSettled(counted);
  const { answer, error, busy } = useAnswer(() => newest(api, most), `${most} ${settled}`);
  const shown = answer && narrowed(answer.rows, query);
  return (
    <Page title="Rejected events" lead="What was sent and could not be counted. Nobody's usage has it: who sent it should mend it, and send it again.">
      <FilterBar label="Which rejected events">
        <FilterSelect
          label="What is wrong"
          value={query["reason"] ?? ""}
          onChange={(reason) => go("rejected", "", withFilter(query, "reason", reason))}
          options={[{ value: "", text: "anything" }, ...rejections.map((reason) => ({ value: reason, text: rejectionMeaning(reason) }))]}
        />
        <FilterText label="With the text" placeholder="in subject or message" value={query["text"] ?? ""} onChange={(text) => go("rejected", "", withFilter(query, "text", text))} />
      </FilterBar>
      {error && <ErrorNotice title="The rejected events could not be read" error={error} />}
      {!answer && busy && <Waiting label="The rejected events are being read" cards={1} />}
      {answer && shown?.length === 0 && <NoneFound all={answer.total} />}
      {answer && shown && shown.length > 0 && (
        <>
          <ul class="rejected-list">
            {shown.map((row) => (
              <RejectedEvent key={`${row.seq}/${row.index}`} of={row} />
            ))}
          </ul>
          <p class="faint" role="status">
            {`${count(shown.length, "event")} shown, the newest first; ${count(answer.total, "is", "are")} kept`}
          </p>
        </>
      )}
      {answer && answer.rows.length < answer.total && (
        <div>
          <Button busy={busy} onClick={() => setMost(most + 1000)}>
            Show older ones
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

function NoneFound({ all }: { all: number }) {
  return (
    <Empty title={all === 0 ? "Nothing was rejected" : "None like that"}>
      <p>{all === 0 ? "Every event that was sent could be counted. What cannot be is listed here, without a reload." : "No rejected event among those shown is as the filters say."}</p>
    </Empty>
  );
}
