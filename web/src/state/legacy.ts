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
  if (text === null || ["", "null", '""'].includes(text.trim())) return { kind: "none" };
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

/** What is needed of localStorage. */
export type Place = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** What the browser keeps; null for nothing. It may keep nothing, or not let us see it: then there is nothing to bring. */
export function keptText(place: () => Place): string | null {
  try {
    return place().getItem(legacyPlace);
  } catch {
    return null;
  }
}

/** Whether all of the documents are pools of the engine, by the ids that they give themselves. */
export function areThere(documents: readonly unknown[], ids: ReadonlySet<string>): boolean {
  return documents.every((document) => {
    const id = typeof document === "object" && document !== null && "id" in document ? document.id : undefined;
    return typeof id === "string" && ids.has(id);
  });
}
