/** A document that somebody changes on a page, while others may change it too. */
import { useEffect, useState } from "preact/hooks";

export interface Followed<Doc> {
  /** What the changes on the page begin from. */
  readonly base: Doc;
  /** The document as somebody else made it, where that has to be said; null while nobody did. */
  readonly newer: Doc | null;
  /** Goes on from what somebody else made of it. */
  readonly goOn: (from: Doc) => void;
  /** It was written from this page: what is read next is one's own, and the page begins anew with it. */
  readonly wrote: () => void;
}

/**
 * Follows a document. `current` is what was read last, `same` says whether two
 * readings are of one revision, `idle` whether the form says what a base did. Where nothing is typed, and behind a change of
 * one's own, the page begins anew with what is read: `onAnew` puts it into the
 * form. All else is `newer`, for whoever typed something to decide on.
 */
export function useFollowed<Doc>(current: Doc, idle: (base: Doc) => boolean, same: (a: Doc, b: Doc) => boolean, onAnew: (doc: Doc) => void): Followed<Doc> {
  const [base, setBase] = useState(current);
  const [written, setWritten] = useState<Doc | null>(null);
  const known = same(current, base);
  const own = written !== null && written !== current;
  const anew = own || (!known && idle(base));
  useEffect(() => {
    if (!anew && !known) return;
    setBase(current);
    if (own) setWritten(null);
    if (anew) onAnew(current);
  }, [current, anew]);
  return { base, newer: known || anew || written !== null ? null : current, goOn: setBase, wrote: () => setWritten(current) };
}
