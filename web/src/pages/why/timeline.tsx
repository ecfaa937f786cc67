import { useEffect, useId, useRef, useState } from "preact/hooks";
import { type Cell, cells, instantOf, lengthFor, lengths, localInput, neighbours, type Stretch, stretchOf } from "../../model/timeline";
import type { DecisionFilter, RecordedDecision } from "../../api/answers";
import { Button } from "../../parts/button";
import { Choice } from "../../parts/field";
import { useAnswer } from "../../state/answer";
import { useSession } from "../../state/session";
import { count } from "../../words/amount";
import { exactMoment, fullInstant, instant, moment } from "../../words/time";

interface Props {
  apiKeyId: string;
  connectionId: string;
  at: number;
  now: number;
  onMoment: (at: number) => void;
  onNow: () => void;
}

/** A slider tells where it is at every point that it passes: only where it rests is asked about. */
const rests = 250;

const cellCount = 120;

const lengthNames: Record<string, string> = { hour: "1 h", "6h": "6 h", day: "1 d", week: "7 d", fortnight: "14 d" };

/** A slider over history, with what was recorded on the way. */
export function Timeline({ apiKeyId, connectionId, at, now, onMoment, onNow }: Props) {
  const [chosen, setChosen] = useState("");
  const length = chosen || lengthFor(at, now);
  const stretch = stretchOf(at, now, lengths[length] ?? lengths["day"]!);
  const rows = useRecorded(apiKeyId, connectionId, stretch);
  const { before, behind } = neighbours(rows, at);
  return (
    <div class="timeline">
      <div class="timeline-head">
        <MomentField at={at} onMoment={onMoment} />
        <Choice
          label="How far the slider reaches"
          value={length}
          options={Object.keys(lengths).map((name) => ({ value: name, text: lengthNames[name] ?? name }))}
          onChange={setChosen}
        />
        <div class="timeline-steps">
          <Button disabled={!before} onClick={() => before && onMoment(instant(before.time))}>
            Earlier answer
          </Button>
          <Button disabled={!behind} onClick={() => behind && onMoment(instant(behind.time))}>
            Later answer
          </Button>
          <Button onClick={onNow}>Now</Button>
        </div>
      </div>
      <Slider stretch={stretch} at={at} now={now} onMoment={onMoment} />
      <Recorded cells={cells(rows, stretch, cellCount)} />
      <div class="timeline-ends faint">
        <span>{moment(stretch.from, now)}</span>
        <span>{rowsSaid(rows, apiKeyId)}</span>
        <span>{moment(stretch.to, now)}</span>
      </div>
    </div>
  );
}

function rowsSaid(rows: readonly RecordedDecision[], apiKeyId: string): string {
  const times = (is: (row: RecordedDecision) => boolean): number => rows.filter(is).reduce((n, row) => n + row.count, 0);
  const blocked = times((row) => row.reply.decision === "block");
  const noted = times((row) => row.reply.wouldBlock === true);
  const whose = apiKeyId ? ` of ${apiKeyId}` : "";
  return `${count(blocked, "block")}${whose} on this stretch${noted > 0 ? `, and ${count(noted, "answer")} that would have been one` : ""}`;
}

/** What was recorded along the stretch; nothing while it is not known. */
function useRecorded(apiKeyId: string, connectionId: string, { from, to }: Stretch): readonly RecordedDecision[] {
  const { api } = useSession();
  const filter: DecisionFilter = {
    ...(apiKeyId ? { apiKeyId } : {}),
    ...(connectionId ? { connectionId } : {}),
    from: new Date(from).toISOString(),
    to: new Date(to + 1).toISOString(),
    limit: 1000,
  };
  const { answer } = useAnswer(() => api.answers.list(filter), JSON.stringify(filter));
  return answer?.decisions ?? [];
}

function Slider({ stretch, at, now, onMoment }: { stretch: Stretch; at: number; now: number; onMoment: (at: number) => void }) {
  const [moving, setMoving] = useState<number | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setMoving(null), [at]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const move = (to: number): void => {
    setMoving(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onMoment(to), rests);
  };
  const shown = moving ?? at;
  return (
    <input
      class="slider"
      type="range"
      aria-label="Moment"
      aria-valuetext={exactMoment(shown, now)}
      title={fullInstant(shown)}
      min={stretch.from}
      max={stretch.to}
      step={stretch.step}
      value={shown}
      onInput={(event) => move(Number(event.currentTarget.value))}
    />
  );
}

/** The moment to the second, for who knows it. */
function MomentField({ at, onMoment }: { at: number; onMoment: (at: number) => void }) {
  const id = useId();
  return (
    <div class="filter">
      <label class="field-label" for={id}>
        Moment
      </label>
      <input
        class="input"
        id={id}
        type="datetime-local"
        step={1}
        value={localInput(at)}
        onChange={(event) => {
          const typed = instantOf(event.currentTarget.value);
          if (typed !== null) onMoment(typed);
        }}
      />
    </div>
  );
}

const toneOf = (cell: Cell): string => (cell.blocked > 0 ? "bad" : cell.wouldBlock > 0 ? "warn" : "good");

function cellSaid(cell: Cell): string {
  const said = [cell.blocked > 0 && `${cell.blocked} blocked`, cell.wouldBlock > 0 && `${cell.wouldBlock} would be blocked`, cell.allowed > 0 && `${cell.allowed} allowed`];
  return said.filter(Boolean).join(", ");
}

/** Where on the stretch something was recorded. The buttons lead to it; this is for the eye. */
function Recorded({ cells: all }: { cells: readonly Cell[] }) {
  return (
    <div class="recorded" aria-hidden="true">
      {all.map((cell) => (
        <span key={cell.place} class={`recorded-cell ${toneOf(cell)}`} style={{ left: `${(cell.place * 100).toFixed(3)}%` }} title={cellSaid(cell)} />
      ))}
    </div>
  );
}
