/** Brings the pools of an older dashboard along, which the browser kept under the same origin. */
import { effect, signal } from "@preact/signals";
import type { ApiError } from "../api/error";
import { areThere, keptText, legacyPlace, type Place, readLegacy } from "./legacy";
import type { Session } from "./session";
import { failure } from "./trial";

export type Migration =
  | { readonly kind: "none" }
  | { readonly kind: "running"; readonly count: number }
  | { readonly kind: "done"; readonly count: number }
  /** What the browser kept could not be read. */
  | { readonly kind: "unreadable"; readonly problem: string }
  /** The engine refused it. */
  | { readonly kind: "refused"; readonly error: ApiError };

/** Who imports, as the log shows it. */
export const importer = { actor: "dashboard", reason: "pools of an older system" };

/** Where this browser notes what it has sent, before it knows what became of it. */
export const sentPlace = "quotashare:pools-sent";

/** Does the work while no other page of this browser does. */
export type Alone = (work: () => Promise<void>) => Promise<void>;

export class Migrator {
  readonly state = signal<Migration>({ kind: "none" });

  constructor(
    private readonly session: Session,
    private readonly place: () => Place,
    private readonly alone: Alone = (work) => work(),
  ) {}

  /** Waits until the pools are known, and begins if there are none. Once: what fails is tried again by whoever reads why. */
  start(): () => void {
    let begun = false;
    return effect(() => {
      const pools = this.session.store.pools.value;
      if (pools === null || begun) return;
      begun = true;
      if (pools.length === 0) void this.run();
      else this.arrived();
    });
  }

  /**
   * Posts all in one batch, which the engine takes only while it has no pools:
   * two pages that do this at once do it once. What was kept goes only when
   * the engine has it, so a page that is closed in between begins anew.
   */
  async run(): Promise<void> {
    if (this.state.peek().kind === "running") return;
    const kept = readLegacy(keptText(this.place));
    if (kept.kind !== "pools") return void (this.state.value = kept);
    this.state.value = { kind: "running", count: kept.documents.length };
    try {
      await this.alone(() => this.bring());
    } catch (error) {
      await this.failed(failure(error), kept.documents.length);
    }
  }

  /** Throws away what could not be read: else it is told of each time the page is opened. */
  discard(): void {
    if (this.state.peek().kind !== "unreadable") return;
    this.forget();
    this.dismiss();
  }

  dismiss(): void {
    this.state.value = { kind: "none" };
  }

  /** Sends what is kept now: another page may have brought it while this one waited. */
  private async bring(): Promise<void> {
    const text = keptText(this.place);
    const kept = readLegacy(text);
    if (text === null || kept.kind !== "pools") return this.dismiss();
    this.note(text);
    const { total } = await this.session.api.pools.importAll(kept.documents, importer);
    this.forget();
    this.state.value = { kind: "done", count: total };
    await this.session.refresh();
  }

  /**
   * An answer may be lost, and the engine may have all the same what was sent:
   * then it refuses the next try, because it has pools.
   */
  private async failed(error: ApiError, count: number): Promise<void> {
    if (error.code === "conflict") {
      await this.session.refresh();
      if (this.arrived() || keptText(this.place) === null) return void (this.state.value = { kind: "done", count });
    }
    if (error.status >= 400 && error.status < 500) this.place().removeItem(sentPlace); // nothing of it came to the engine
    this.state.value = { kind: "refused", error };
  }

  /**
   * Whether what this browser sent has come to the engine, which takes all or
   * none. Then it is no longer kept: else pools that somebody deletes would come
   * back. A list that was never sent from here stays, whatever the engine has.
   */
  private arrived(): boolean {
    const text = keptText(this.place);
    const kept = readLegacy(text);
    const ids = new Set((this.session.store.pools.peek() ?? []).map((pool) => pool.id));
    if (kept.kind !== "pools" || text !== this.sent() || !areThere(kept.documents, ids)) return false;
    this.forget();
    return true;
  }

  private sent(): string | null {
    return this.place().getItem(sentPlace);
  }

  private note(text: string): void {
    try {
      this.place().setItem(sentPlace, text);
    } catch {
      // There is no room: an answer that is lost will have to be looked after by hand.
    }
  }

  private forget(): void {
    this.place().removeItem(legacyPlace);
    this.place().removeItem(sentPlace);
  }
}
