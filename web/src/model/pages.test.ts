import { expect, test, vi } from "vitest";
import { firstFound } from "./pages";

const pages = (...rows: number[][]) => vi.fn((before: number | undefined) => {
  const place = before ?? 0;
  return Promise.resolve({ rows: rows[place] ?? [], next: place + 1 < rows.length ? place + 1 : undefined });
});

test("pages without a row are passed over", async () => {
  const ask = pages([], [], [7], [8]);
  expect(await firstFound(ask)).toEqual({ rows: [7], next: 3 });
  expect(ask.mock.calls).toEqual([[undefined], [1], [2]]);
});

test("the last page is the last, whatever is on it", async () => expect(await firstFound(pages([], []))).toEqual({ rows: [], next: undefined }));
test("a reading goes on where it was", async () => expect(await firstFound(pages([1], [], [3]), 1)).toEqual({ rows: [3], next: undefined }));

test("so many are looked at, and no more", async () => {
  const ask = pages([], [], [], [4]);
  expect(await firstFound(ask, undefined, 3)).toEqual({ rows: [], next: 3 });
  expect(ask).toHaveBeenCalledTimes(3);
});
