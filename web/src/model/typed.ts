/** Numbers, as people type them. */

/** Digits in groups of three, as the pages themselves write them: "1,500", "1 500.25". */
const grouped = /^\d{1,3}(?:[,\s]\d{3})+(?:\.\d+)?$/;

/**
 * What was typed, as the engine reads numbers: without a dollar before it, and
 * without what parts groups of digits. All else is left for the engine to judge:
 * whether "1,5" is one and a half or fifteen is not for a page to say.
 */
export function plain(text: string): string {
  const bare = text.trim().replace(/^\$\s*/, "");
  return grouped.test(bare) ? bare.replace(/[,\s]/g, "") : bare;
}
