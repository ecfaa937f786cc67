/** What somebody typed and did not save is not lost by a click beside it. */
import { useEffect } from "preact/hooks";

/** The forms that hold something that is not saved. */
const held = new Set<object>();

const words = "What you have changed here is not saved. Leave all the same?";

/** The browser asks, in its own words. */
function beforeUnload(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

/** Asks before the page is left for another, or closed, while `unsaved`. */
export function useUnsaved(unsaved: boolean): void {
  useEffect(() => {
    if (!unsaved) return;
    const form = {};
    held.add(form);
    addEventListener("beforeunload", beforeUnload);
    return () => {
      held.delete(form);
      if (held.size === 0) removeEventListener("beforeunload", beforeUnload);
    };
  }, [unsaved]);
}

/** Whether the page may be left; asks whoever typed something. */
export function mayLeave(): boolean {
  return held.size === 0 || confirm(words);
}
