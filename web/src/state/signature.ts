/** Who changes something, and why: both go into the log with the change. */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Write } from "../api/client";

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
  name.value ??= remembered();
  const onName = (to: string): void => {
    name.value = to;
    remember(to);
  };
  return { name: name.value, reason, onName, onReason, write: { actor: name.value.trim(), reason: reason.trim() } };
}
