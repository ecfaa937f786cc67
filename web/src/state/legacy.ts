/** Pools as older systems have them: a list in the browser, in a file, or in the clipboard. */

import { parseJson } from "../api/json";

/** Where an older dashboard of the same origin kept its pools. */
export const legacyPlace = "omniroute:quota-share:pools";

export type Legacy =
  | { readonly kind: "none" }
  | { readonly kind: "unreadable"; readonly problem: string }
  | { readonly kind: "pools"; readonly documents: readonly unknown[] };

/**
 * Reads a list of pools, plain or within `{pools: […]}` as the API itself has
 * it. What the documents hold is for the engine to judge.
 */
export function readLegacy(text: string | null): Legacy {
  if (text === null || text.trim() === "") return { kind: "none" };
  const list = listIn(text);
  if (list === null) return { kind: "unreadable", problem: "this is no list of pools: it begins with [ and ends with ]" };
  return list.length === 0 ? { kind: "none" } : { kind: "pools", documents: list };
}

function listIn(text: string): unknown[] | null {
  try {
    const document: unknown = parseJson(text);
    if (Array.isArray(document)) return document;
    if (typeof document === "object" && document !== null && "pools" in document && Array.isArray(document.pools)) return document.pools;
    return null;
  } catch {
    return null;
  }
}
