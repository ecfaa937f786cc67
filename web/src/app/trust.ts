/** How far what is on the page can be trusted, in words. */
import type { Link } from "../live/connection";
import type { Engine } from "../state/store";
import { count } from "../words/amount";
import { clock, duration, relative, second } from "../words/time";
import type { Said } from "../words/verdict";

/** Signs of life come every 15 seconds. */
const oldAfter = 40 * second;

interface Known {
  readonly link: Link;
  readonly engine: Engine;
  readonly heardAt: number | null;
  readonly now: number;
}

/** How the page hears of changes, and since when it has not. */
export function freshness({ link, heardAt, now }: Known, zone?: string): Said {
  const old = heardAt === null ? "nothing was heard yet" : `numbers are of ${clock(heardAt, zone)}, ${relative(heardAt, now)}`;
  switch (link.kind) {
    case "live":
      return heardAt !== null && now - heardAt > oldAfter
        ? { tone: "warn", text: `No sign of life: ${old}` }
        : { tone: "good", text: "Live" };
    case "connecting":
      return { tone: "quiet", text: heardAt === null ? "Connecting" : `Connecting again: ${old}` };
    case "polling":
      return heardAt !== null && now - heardAt < oldAfter
        ? { tone: "warn", text: `No stream, asking every 30 s: ${old}` }
        : { tone: "bad", text: `The engine does not answer: ${old}` };
    case "paused":
      return { tone: "quiet", text: `Paused: ${old}` };
    case "refused":
      return { tone: "bad", text: "The engine asks for a token" };
  }
}

/** How far the engine is behind what gateways have published. */
export function lag(engine: Engine): Said {
  switch (engine.kind) {
    case "unknown":
      return { tone: "quiet", text: "engine not heard yet" };
    case "stateless":
      return { tone: "warn", text: `engine not ready: ${engine.message}` };
    case "catching-up":
      return { tone: "warn", text: `engine catching up: ${count(engine.lastSeq - engine.appliedSeq, "message")} to go` };
    case "ready":
      return engine.lagMs === 0
        ? { tone: "quiet", text: "every event is counted" }
        : { tone: engine.lagMs > 5 * second ? "warn" : "quiet", text: `${duration(engine.lagMs)} behind the events` };
  }
}

/** How many events could not be counted; null when there are none. */
export function refused(engine: Engine): Said | null {
  if (!("counts" in engine) || engine.counts.rejected === 0) return null;
  return { tone: "warn", text: `${count(engine.counts.rejected, "event")} rejected` };
}
