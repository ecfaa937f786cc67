/** Who the page is to the engine: what it offers depends on it, and whether it has to ask for a token. */
import { signal } from "@preact/signals";
import type { Api } from "../api/client";
import type { Identity, Role } from "../api/identity";

/** Tells the other pages of this browser that somebody logged out. */
export interface Others {
  tell(): void;
  /** Calls when another page told. */
  listen(left: () => void): void;
}

const alone: Others = { tell: () => undefined, listen: () => undefined };

export class Who {
  /** null until the engine has said. */
  readonly identity = signal<Identity | null>(null);
  /** The page had a token, and it is not good any more. */
  readonly ended = signal(false);

  constructor(
    private readonly api: Api["session"],
    /** Begins the page anew: what somebody else has seen is not left on it. */
    private readonly restart: () => void,
    /** The token is of all pages of a browser: who logs out on one has left them all. */
    private readonly others: Others = alone,
  ) {
    others.listen(restart);
  }

  get role(): Role | undefined {
    return this.identity.value?.role;
  }

  /** Whether nothing can be asked before somebody has logged in. */
  get needsToken(): boolean {
    return this.identity.value?.needsToken ?? false;
  }

  /** Asks the engine. One that does not answer is found out by whoever asks it next. */
  async ask(): Promise<void> {
    try {
      this.identity.value = await this.api.get();
    } catch {
      this.identity.value = { needsToken: false };
    }
  }

  /** The engine refused the token of the page: it was removed, say. */
  lost(): void {
    if (this.needsToken) return;
    this.ended.value = this.role !== undefined;
    this.identity.value = { needsToken: true };
  }

  /** Throws ApiError when the token is refused. */
  async login(token: string): Promise<void> {
    await this.api.begin(token);
    this.restart();
  }

  /** Throws ApiError when the engine does not answer: then the browser still has the token. */
  async logout(): Promise<void> {
    await this.api.end();
    this.others.tell();
    this.restart();
  }
}
