import { useEffect, useId, useRef, useState } from "preact/hooks";
import { type Cell, cells, instantOf, lengthFor, lengthsOf, localInput, neighbours, outside, type Stretch, stretchOf, whole } from "../../model/timeline";
import type { DecisionFilter, DecisionPage, RecordedDecision } from "../../api/answers";
import { Button } from "../../parts/button";
import { Choice } from "../../parts/field";
import { useAnswer } from "../../state/answer";
import { useSession } from "../../state/session";
import { count } from "../../words/amount";
import { duration, exactMoment, fullInstant, instant, moment, zoneName } from "../../words/time";

/** Whose answers are shown along the slider; "" for whoever's. */
interface Of {
  readonly apiKeyId: string;
  readonly connectionId: string;
  readonly poolId: string;
}

interface Props {
  of: Of;
  at: number;
  now: number;
  /** Where the history begins; null when nobody knows. */
  since: number | null;
  /** Another one when somebody went to now: what was typed before is over. */
  round: number;
  onMoment: (at: number) => void;
  onNow: () => void;
}

/** A slider tells where it is at every point that it passes: only where it rests is asked about. */
const rests = 250;

const cellCount = 120;

const lengthNames: Record<string, string> = { hour: "1 h", "6h": "6 h", day: "1 d", week: "7 d", fortnight: "14 d", [whole]: "all" };

/** A slider over history, with what was recorded on the way. */
export function Timeline({ of, at, now, since, round, onMoment, onNow }: Props) {
  const [chosen, setChosen] = useState("");
  const lengths = lengthsOf(since, now);
  const there = Math.max(at, since ?? at); // an address may name what is not kept any more
  const length = chosen in lengths ? chosen : lengthFor(there, now, since);
  const stretch = stretchOf(there, now, lengths[length] ?? now, since);
  const recorded = useRecorded(of, stretch);
  const rows = recorded?.decisions ?? [];
  const { before, behind } = neighbours(rows, at);
  return (
    <div class="timeline">
      <div class="timeline-head">
        <MomentField key={round} at={at} now={now} since={since} onMoment={onMoment} />
        {Object.keys(lengths).length > 1 && (
          <Choice
            label="How far the slider reaches"
            value={length}
            options={Object.entries(lengths).map(([name, ms]) => ({ value: name, text: lengthNames[name] ?? name, title: name === whole ? `All that can be explained: ${duration(ms)}` : duration(ms) }))}
            onChange={setChosen}
          />
        )}
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
      <Slider stretch={stretch} at={there} now={now} onMoment={onMoment} />
      <Recorded cells={cells(rows, stretch, cellCount)} />
      <div class="timeline-ends faint">
        <span title={fullInstant(stretch.from)}>{stretch.from === since ? `${moment(stretch.from, now)}, where the history begins` : moment(stretch.from, now)}</span>
        <span class="timeline-said">{recorded && rowsSaid(recorded, of.apiKeyId)}</span>
        <span title={fullInstant(stretch.to)}>{stretch.to === now ? "now" : moment(stretch.to, now)}</span>
      </div>
    </div>
  );
}

function rowsSaid({ decisions, next }: DecisionPage, apiKeyId: string): string {
  const times = (is: (row: RecordedDecision) => boolean): number => decisions.filter(is).reduce((n, row) => n + row.count, 0);
  const blocked = times((row) => row.reply.decision === "block");
  const noted = times((row) => row.reply.wouldBlock === true);
  const whose = apiKeyId ? ` of ${apiKeyId}` : "";
  const all = `${count(blocked, "block")}${whose} on this stretch${noted > 0 ? `, and ${count(noted, "answer")} that would have been one` : ""}`;
  return next === undefined ? all : `${all}, at least`;
}

/** What was recorded along the stretch; null while it is not known. */
function useRecorded({ apiKeyId, connectionId, poolId }: Of, { from, to }: Stretch): DecisionPage | null {
  const { api } = useSession();
  const filter: DecisionFilter = {
    ...(apiKeyId ? { apiKeyId } : {}),
    ...(connectionId ? { connectionId } : {}),
    ...(poolId ? { poolId } : {}),
    from: new Date(from).toISOString(),
    to: new Date(to + 1).toISOString(),
    limit: 1000,
  };
  return useAnswer(() => api.answers.list(filter), JSON.stringify(filter)).answer;
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
      aria-label="Moment on the slider"
      aria-valuetext={exactMoment(shown, now)}
      aria-description={keysSay(stretch)}
      title={`${exactMoment(shown, now)}. ${keysSay(stretch)}`}
      min={stretch.from}
      max={stretch.to}
      step={stretch.step}
      value={shown}
      onInput={(event) => move(Number(event.currentTarget.value))}
    />
  );
}

const keysSay = ({ from, to, step }: Stretch): string => `Arrow keys go ${duration(step)}, Page Up and Page Down ${duration((to - from) / 10)}.`;

const outsideSaid = { "": "", late: "That is still to come.", early: "The history does not reach back so far." } as const;

/** The moment to the second, for who knows it. What the history does not have is not asked about. */
function MomentField({ at, now, since, onMoment }: { at: number; now: number; since: number | null; onMoment: (at: number) => void }) {
  const id = useId();
  const [typed, setTyped] = useState<number | null>(null);
  useEffect(() => setTyped(null), [at]);
  const said = outsideSaid[outside(typed ?? at, Math.max(now, at), since)];
  const take = (text: string): void => {
    const read = instantOf(text);
    if (read === null) return;
    // A field has no milliseconds, and the history may begin within its second.
    const to = since !== null && read < since && read + 1000 > since ? since : read;
    setTyped(to);
    if (!outside(to, now, since)) onMoment(to);
  };
  return (
    <div class="filter">
      <label class="field-label" for={id}>
        {`Moment, ${zoneName(at)}`}
      </label>
      <input
        class="input"
        id={id}
        type="datetime-local"
        step={1}
        min={since === null ? undefined : localInput(since)}
        max={localInput(Math.max(now, at))}
        value={localInput(typed ?? at)}
        aria-invalid={said !== ""}
        aria-describedby={said ? `${id}-problem` : undefined}
        onChange={(event) => take(event.currentTarget.value)}
      />
      {said && (
        <p class="field-problem" id={`${id}-problem`} role="status">
          {said}
        </p>
      )}
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
