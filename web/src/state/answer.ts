import { useEffect, useState } from "preact/hooks";
import { aborted } from "../api/call";
import { ApiError, unreachable } from "../api/error";

export interface Answered<T> {
  /** The newest answer; it stays while the next is on its way, so that nothing jumps. null before the first. */
  readonly answer: T | null;
  /** Why there is no newer one. */
  readonly error: ApiError | null;
  readonly busy: boolean;
}

type Ask<T> = (signal: AbortSignal) => Promise<T>;

/**
 * Asks when the page opens, and again whenever `of` is another text. What was
 * asked before and is not answered yet is given up. Without `ask` nothing is
 * asked, and what was answered is forgotten.
 */
export function useAnswer<T>(ask: Ask<T> | null, of: string): Answered<T> {
  const [asked, setAsked] = useState<Answered<T>>({ answer: null, error: null, busy: ask !== null });
  useEffect(() => {
    if (!ask) return setAsked({ answer: null, error: null, busy: false });
    const abort = new AbortController();
    setAsked(({ answer }) => ({ answer, error: null, busy: true }));
    ask(abort.signal).then(
      (answer) => !abort.signal.aborted && setAsked({ answer, error: null, busy: false }),
      (fault: unknown) => {
        if (abort.signal.aborted || aborted(fault)) return;
        const error = fault instanceof ApiError ? fault : unreachable();
        setAsked(({ answer }) => ({ answer, error, busy: false }));
      },
    );
    return () => abort.abort();
  }, [of, ask === null]);
  return asked;
}
