/** Calls that wait for their turn. */
import { ApiError } from "./error";

/** How often somebody who was told to come back does so: about as long as one audit may take. */
const tries = 90;

const pause = 1_000;

/** Resolves after so many milliseconds, or rejects as an aborted call does. */
function rest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const hangUp = (): void => {
      clearTimeout(timer);
      reject(new DOMException("nobody waits any more", "AbortError"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", hangUp);
      resolve();
    }, ms);
    if (signal.aborted) hangUp();
    else signal.addEventListener("abort", hangUp, { once: true });
  });
}

/** Makes a call again while the engine answers that it is busy: it makes one audit at a time. */
export async function patiently<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let left = tries; ; left--) {
    try {
      return await call(signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "busy" || left === 0) throw error;
      await rest(error.retryAfterMs ?? pause, signal);
    }
  }
}
