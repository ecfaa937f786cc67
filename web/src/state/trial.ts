/** Questions of a page that writes: what it begins with, what a change would do, and the change itself. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { aborted } from "../api/call";
import { ApiError, unreachable } from "../api/error";

/** Any failure, as one of the API. */
export function failure(error: unknown): ApiError {
  return error instanceof ApiError ? error : unreachable();
}

export interface Answered<Answer> {
  readonly value: Answer | null;
  readonly error: ApiError | null;
  /** A newer answer is on its way. */
  readonly busy: boolean;
}

const nothing = { value: null, error: null, busy: false };

/**
 * Asks once, and again when `of`, which names the question, is another, or when
 * it is told to. What was answered before stays until the next answer is there,
 * and when there is none: a form that is open must not go because a network did.
 */
export function useAnswer<Answer>(of: string, ask: () => Promise<Answer>): Answered<Answer> & { again: () => void } {
  const [state, setState] = useState<Answered<Answer>>({ ...nothing, busy: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    let left = false;
    setState((before) => ({ ...before, busy: true }));
    ask().then(
      (value) => left || setState({ value, error: null, busy: false }),
      (error: unknown) => left || setState(({ value }) => ({ value, error: failure(error), busy: false })),
    );
    return () => void (left = true);
  }, [of, round]);
  const again = useCallback(() => setRound((n) => n + 1), []);
  return { ...state, again };
}

/** How long nothing is typed before what was typed is tried. */
export const pause = 350;

/**
 * What a change would do, tried whenever it is another: `of` names it, null for
 * no change. The answer before stays until the next is there, so that nothing
 * jumps while somebody types.
 */
export function useTrial<Answer>(of: string | null, ask: () => Promise<Answer>): Answered<Answer> {
  const [state, setState] = useState<Answered<Answer>>(nothing);
  useEffect(() => {
    if (of === null) {
      setState(nothing);
      return undefined;
    }
    let left = false;
    setState((before) => ({ ...before, busy: true }));
    const timer = setTimeout(() => {
      ask().then(
        (value) => left || setState({ value, error: null, busy: false }),
        (error: unknown) => left || setState({ value: null, error: failure(error), busy: false }),
      );
    }, pause);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [of]);
  return state;
}

export interface Writing {
  readonly busy: boolean;
  /** Why the last try failed; null when it did not, or there was none. */
  readonly error: ApiError | null;
  /** Writes, unless something is being written already; then does what follows. */
  readonly run: <Answer>(write: () => Promise<Answer>, then: (answer: Answer) => void) => void;
  readonly forget: () => void;
}

/** One change at a time, and what became of it. */
export function useWriting(): Writing {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const running = useRef(false);
  const run = <Answer>(write: () => Promise<Answer>, then: (answer: Answer) => void): void => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    setError(null);
    const end = (): void => {
      running.current = false;
      setBusy(false);
    };
    write().then(
      (answer) => {
        end();
        then(answer);
      },
      (problem: unknown) => {
        end();
        if (!aborted(problem)) setError(failure(problem));
      },
    );
  };
  return { busy, error, run, forget: () => setError(null) };
}
