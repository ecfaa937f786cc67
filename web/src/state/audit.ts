/** Questions for which the log is read again: they take their time, wait for their turn, and can be stopped. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { aborted } from "../api/call";
import type { ApiError } from "../api/error";
import { patiently } from "../api/patient";
import { useSession } from "./session";
import { failure } from "./trial";

/** waits: somebody else's audit is made first. stopped: by who asked. */
export type AuditStage = "idle" | "reads" | "waits" | "stopped";

export interface Audited<T> {
  /** The newest answer; it stays while the next is on its way, so that nothing jumps. null before the first. */
  readonly answer: T | null;
  /** Why there is no newer one. */
  readonly error: ApiError | null;
  readonly stage: AuditStage;
  /** When it was asked, in epoch milliseconds. */
  readonly since: number;
}

export interface Audit<T> extends Audited<T> {
  stop(): void;
  again(): void;
}

type Ask<T> = (signal: AbortSignal) => Promise<T>;

/**
 * Asks when the page opens, and again whenever `of` is another text. What was
 * asked before and is not answered yet is given up. Without `ask` nothing is
 * asked, and what was answered is forgotten.
 */
export function useAudit<T>(ask: Ask<T> | null, of: string): Audit<T> {
  const { store } = useSession();
  const [audited, setAudited] = useState<Audited<T>>({ answer: null, error: null, stage: ask ? "reads" : "idle", since: store.now.peek() });
  const [round, setRound] = useState(0);
  const running = useRef<AbortController | null>(null);
  useEffect(() => {
    if (!ask) return setAudited((before) => ({ ...before, answer: null, error: null, stage: "idle" }));
    const control = new AbortController();
    running.current = control;
    const tell = (change: Partial<Audited<T>>): void => {
      if (!control.signal.aborted) setAudited((before) => ({ ...before, ...change }));
    };
    tell({ error: null, stage: "reads", since: store.now.peek() });
    patiently(ask, control.signal, () => tell({ stage: "waits" })).then(
      (answer) => tell({ answer, error: null, stage: "idle" }),
      (fault: unknown) => aborted(fault) || tell({ error: failure(fault), stage: "idle" }),
    );
    return () => control.abort();
  }, [of, round, ask === null]);
  const stop = useCallback(() => {
    running.current?.abort();
    setAudited((before) => ({ ...before, stage: "stopped" }));
  }, []);
  const again = useCallback(() => setRound((n) => n + 1), []);
  return { ...audited, stop, again };
}
