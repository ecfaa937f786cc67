/** The engine's clock, as far as its answers tell it: that of a browser may be hours off. */

/** Less than this is taken for the way of an answer, not for a wrong clock; in milliseconds, like all here. */
const tolerance = 2_000;

/** A head of an answer names the second alone. */
const grain = 1_000;

export class Clock {
  /** How far the engine's clock is ahead of the browser's; null until it has told. */
  private ahead: number | null = null;
  private drift = driftNow();

  /** Epoch milliseconds by the engine's clock. */
  now(): number {
    const ahead = this.ahead ?? 0;
    return Date.now() + (Math.abs(ahead) < tolerance ? 0 : ahead);
  }

  /**
   * Takes an instant that the engine told. It was told before now, so the
   * engine's clock is at least that far. Where it answered a call of the
   * browser's instant `sent`, it was told behind that, so it is no farther
   * either. Between the two what is known stays; outside it is wrong, because
   * one of the clocks was set.
   */
  saw(told: number, sent = -Infinity): void {
    const least = told - Date.now();
    const most = told + grain - sent;
    if (this.ahead === null || this.ahead < least || this.ahead > most) this.ahead = least;
  }

  /**
   * Whether the browser's clock was set since this was asked last, or the
   * machine slept: its time of day and its stopwatch have parted. Then how far
   * the engine is ahead is not known any more.
   */
  parted(): boolean {
    const drift = driftNow();
    if (Math.abs(drift - this.drift) < tolerance) return false;
    this.drift = drift;
    this.ahead = null;
    return true;
  }
}

function driftNow(): number {
  return Date.now() - performance.now();
}
