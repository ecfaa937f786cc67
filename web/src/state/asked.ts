/** What a page asks for by itself, because the stream does not tell it. */
import { useEffect, useState } from "preact/hooks";
import { ApiError, unreachable } from "../api/error";

export interface Asked<Answer> {
  /** The newest answer; null until there is one. It stays when a later question fails. */
  readonly value: Answer | null;
  /** Why the last question failed; null when it did not. */
  readonly error: ApiError | null;
}

/**
 * Asks now, then every so many milliseconds while somebody looks, and at once
 * when `of`, which names the question, is another.
 */
export function useAsked<Answer>(of: string, ask: (hangUp: AbortSignal) => Promise<Answer>, every: number): Asked<Answer> {
  const [state, setState] = useState<Asked<Answer>>({ value: null, error: null });
  useEffect(() => {
    const hangUp = new AbortController();
    const failed = (error: unknown): void => {
      if (hangUp.signal.aborted) return;
      setState(({ value }) => ({ value, error: error instanceof ApiError ? error : unreachable() }));
    };
    const answered = (value: Answer): void => {
      if (!hangUp.signal.aborted) setState({ value, error: null });
    };
    const once = (): void => void ask(hangUp.signal).then(answered, failed);
    once();
    const timer = setInterval(() => {
      if (!document.hidden) once();
    }, every);
    return () => {
      clearInterval(timer);
      hangUp.abort();
    };
  }, [of, every]);
  return state;
}
