/** Who changes something, and why: both go into the log with the change. */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Write } from "../api/client";
import { useSession } from "./session";

const place = "quotashare:name";

/** The name that was given last, so that it is typed once. The browser may keep nothing, or not let us see it. */
function remembered(): string {
  try {
    return localStorage.getItem(place) ?? "";
  } catch {
    return "";
  }
}

function remember(name: string): void {
  try {
    localStorage.setItem(place, name);
  } catch {
    // It holds until the page is closed.
  }
}

const name = signal<string | null>(null);

export interface Signature {
  /** The name of the token that the page has, by which the engine knows who it is; then none is asked for. */
  readonly token: string | undefined;
  readonly name: string;
  readonly reason: string;
  readonly onName: (name: string) => void;
  readonly onReason: (reason: string) => void;
  /** What goes with the change. */
  readonly write: Write;
}

/** The name is one on all pages; each change has a reason of its own. */
export function useSignature(): Signature {
  const [reason, onReason] = useState("");
  const token = useSession().who.identity.value?.name;
  name.value ??= remembered();
  const onName = (to: string): void => {
    name.value = to;
    remember(to);
  };
  const actor = token === undefined ? { actor: name.value.trim() } : {};
  return { token, name: name.value, reason, onName, onReason, write: { ...actor, reason: reason.trim() } };
}
