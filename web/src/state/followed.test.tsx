// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { type Followed, useFollowed } from "./followed";

interface Doc {
  readonly revision: number;
}

/** A page that follows a document; idle says whether nothing is typed. */
function page() {
  const root = document.createElement("div");
  const anew: number[] = [];
  let followed: Followed<Doc> | undefined;
  const Shown = ({ current, idle }: { current: Doc; idle: boolean }) => {
    followed = useFollowed(current, () => idle, (a, b) => a.revision === b.revision, ({ revision }) => anew.push(revision));
    return null;
  };
  return {
    anew,
    read: (revision: number, idle: boolean) => act(() => render(<Shown current={{ revision }} idle={idle} />, root)),
    do: (what: (of: Followed<Doc>) => void) => act(() => followed && what(followed)),
    get: () => [followed?.base.revision, followed?.newer?.revision],
  };
}

test("where nothing is typed the page begins anew with what is read", () => {
  const { read, get, anew } = page();
  read(1, true);
  read(2, true);
  expect([get(), anew]).toEqual([[2, undefined], [2]]);
});

test("what somebody else made of it is for who typed to decide on", () => {
  const { read, get, anew, do: act } = page();
  read(1, true);
  read(2, false);
  expect([get(), anew]).toEqual([[1, 2], []]);
  act(({ newer, goOn }) => newer && goOn(newer));
  expect([get(), anew]).toEqual([[2, undefined], []]);
});

test("one's own change is nobody else's, whether the stream or the answer is faster", () => {
  const { read, get, anew, do: act } = page();
  read(1, false);
  read(2, false); // by the stream, while it is being written
  act(({ wrote }) => wrote());
  expect(get()).toEqual([1, undefined]);
  read(2, false);
  expect([get(), anew]).toEqual([[2, undefined], [2]]);
  read(3, false);
  expect([get(), anew]).toEqual([[2, 3], [2]]);
});
