/** Brings the pools of an older dashboard along, which the browser kept under the same origin. */
import { effect, signal } from "@preact/signals";
import type { ApiError } from "../api/error";
import { legacyPlace, readLegacy } from "./legacy";
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

/** What is needed of localStorage. */
export type Place = Pick<Storage, "getItem" | "removeItem">;

export class Migrator {
  readonly state = signal<Migration>({ kind: "none" });

  constructor(
    private readonly session: Session,
    private readonly place: () => Place,
  ) {}

  /** Waits until the pools are known, and begins if there are none. Once: what fails is tried again by whoever reads why. */
  start(): () => void {
    let begun = false;
    return effect(() => {
      const pools = this.session.store.pools.value;
      if (pools === null || begun) return;
      begun = true;
      if (pools.length === 0) void this.run();
    });
  }

  /**
   * Posts all in one batch, which the engine takes only while it has no pools:
   * two pages that do this at once do it once. What was kept goes only when
   * the engine has it, so a page that is closed in between begins anew.
   */
  async run(): Promise<void> {
    if (this.state.peek().kind === "running") return;
    const kept = this.kept();
    if (kept.kind === "none") return;
    if (kept.kind === "unreadable") return void (this.state.value = kept);
    this.state.value = { kind: "running", count: kept.documents.length };
    try {
      const { total } = await this.session.api.pools.importAll(kept.documents, importer);
      this.place().removeItem(legacyPlace);
      this.state.value = { kind: "done", count: total };
      await this.session.refresh();
    } catch (error) {
      this.state.value = { kind: "refused", error: failure(error) };
    }
  }

  dismiss(): void {
    this.state.value = { kind: "none" };
  }

  /** The browser may keep nothing, or not let us see it: then there is nothing to bring. */
  private kept() {
    try {
      return readLegacy(this.place().getItem(legacyPlace));
    } catch {
      return { kind: "none" } as const;
    }
  }
}
