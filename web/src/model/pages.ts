/** Lists that come in pages. */

export interface PageOf<Row, Place> {
  readonly rows: readonly Row[];
  /** Where the next page begins; undefined on the last. */
  readonly next: Place | undefined;
}

/**
 * The first page that has something, from a place on. Where a filter leaves much out,
 * pages are empty and not the last: so many are passed over, and then the reader is
 * asked whether to look on.
 */
export async function firstFound<Row, Place>(ask: (before: Place | undefined) => Promise<PageOf<Row, Place>>, from?: Place, most = 20): Promise<PageOf<Row, Place>> {
  let page = await ask(from);
  for (let n = 1; n < most && page.rows.length === 0 && page.next !== undefined; n++) page = await ask(page.next);
  return page;
}
