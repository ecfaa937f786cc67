/** Calls that wait for their turn. */
import { ApiError } from "./error";

/** How often somebody who was told to come back does so: about as long as one audit may take. */
const tries = 90;

const pause = 1_000;

/** Resolves after so many milliseconds, or rejects as an aborted call does. */
async function rest(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return;
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

/** How long an engine may go on with what nobody waits for any more, in milliseconds. */
const ending = 250;

/** When the audit that was given up last is over. */
let over = 0;

/** Is told when a call has to wait for its turn. */
export type Told = () => void;

/** Makes a call again while the engine answers that it is busy: it makes one audit at a time. */
export async function patiently<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal, told: Told = () => undefined): Promise<T> {
  await rest(over - Date.now(), signal); // a refusal that can be foreseen need not be asked for
  const givenUp = (): void => void (over = Date.now() + ending);
  signal.addEventListener("abort", givenUp);
  try {
    return await again(call, signal, told);
  } finally {
    signal.removeEventListener("abort", givenUp);
  }
}

async function again<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal, told: Told): Promise<T> {
  for (let left = tries; ; left--) {
    try {
      return await call(signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "busy" || left === 0) throw error;
      told();
      await rest(error.retryAfterMs ?? pause, signal);
    }
  }
}
