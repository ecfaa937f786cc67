import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/**
 * Keeps the focus where somebody works with a list of rows: in the row that was
 * just added, and in the last one when its own was removed. Rows that come or go without
 * a button of the list being pressed move nothing.
 */
export function useRowFocus<List extends HTMLElement>(count: number): RefObject<List | null> {
  const list = useRef<List>(null);
  const before = useRef(count);
  useEffect(() => {
    const grown = count - before.current;
    before.current = count;
    const rows = list.current;
    if (!rows || grown === 0) return;
    const here = document.activeElement;
    const added = grown === 1 && here instanceof HTMLButtonElement && rows.parentElement?.contains(here);
    const removed = grown === -1 && here === document.body; // the button that was pressed has gone with its row
    if (added || removed) rows.lastElementChild?.querySelector<HTMLElement>("input, select")?.focus();
  }, [count]);
  return list;
}
