/** Who the page is to the engine, as GET /api/quota/session says. */
import { type Call } from "./call";

export type Role = "ingest" | "read" | "self" | "admin";

export interface Identity {
  /** The engine asks for a token, and the page has none that is good. */
  readonly needsToken: boolean;
  /** What the page may do; absent when a token is needed. */
  readonly role?: Role;
  /** Name of the token; absent where none is asked for. */
  readonly name?: string;
  /** The API keys that the role self is bound to. */
  readonly keys?: readonly string[];
  readonly expiresAt?: string;
  /** What is wrong with the token file of the engine; admins are told. */
  readonly problem?: string;
}

const path = "/api/quota/session";

export const identity = (call: Call) => ({
  get: async () => (await call(path)) as Identity,
  /** Takes a token for a cookie, which no script sees. */
  begin: async (token: string) => (await call(path, { method: "POST", body: { token } })) as Identity,
  end: async (): Promise<void> => {
    await call(path, { method: "DELETE" });
  },
});
