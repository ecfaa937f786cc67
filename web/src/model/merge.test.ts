import { expect, test } from "vitest";
import { type AllocationDraft, appended, type Draft, freshAllocation, newDraft, replaced, without } from "./draft";
import { mergedPool, mergedRows } from "./merge";

const ann = { ...freshAllocation, apiKeyId: "ann", weight: "60" };
const bob = { ...freshAllocation, apiKeyId: "bob", weight: "40" };
const rows = (...list: Omit<AllocationDraft, "row">[]): readonly AllocationDraft[] => list.map((each, place) => ({ ...each, row: place + 1 }));
const base = rows(ann, bob);
const names = (list: readonly AllocationDraft[]): string[] => list.map(({ apiKeyId, weight }) => `${apiKeyId} ${weight}`);
const merged = (mine: readonly AllocationDraft[], theirs: readonly AllocationDraft[]) => {
  const { document, clashes } = mergedRows(base, mine, theirs, (row) => row.apiKeyId);
  return { rows: names(document), clashes };
};

test("what one of us changed holds", () => {
  expect(merged(base, replaced(base, 2, { weight: "30" }))).toEqual({ rows: ["ann 60", "bob 30"], clashes: [] });
  expect(merged(replaced(base, 1, { weight: "70" }), replaced(base, 2, { weight: "30" }))).toEqual({ rows: ["ann 70", "bob 30"], clashes: [] });
});

test("what both changed is mine, and is said, unless both did the same", () => {
  expect(merged(replaced(base, 1, { weight: "70" }), replaced(base, 1, { weight: "50" }))).toEqual({ rows: ["ann 70", "bob 40"], clashes: ["ann"] });
  expect(merged(replaced(base, 1, { weight: "70" }), replaced(base, 1, { weight: "70" }))).toEqual({ rows: ["ann 70", "bob 40"], clashes: [] });
});

test("rows that one of us added or removed", () => {
  const carl = { ...freshAllocation, apiKeyId: "carl", weight: "1" };
  const dora = { ...freshAllocation, apiKeyId: "dora", weight: "2" };
  expect(merged(appended(base, carl), appended(without(base, 2), dora))).toEqual({ rows: ["ann 60", "dora 2", "carl 1"], clashes: [] });
  expect(merged(without(base, 1), base)).toEqual({ rows: ["bob 40"], clashes: [] });
});

test("of a row that one removed and the other changed, mine holds", () => {
  expect(merged(without(base, 1), replaced(base, 1, { weight: "5" }))).toEqual({ rows: ["bob 40"], clashes: ["ann"] });
  expect(merged(replaced(base, 1, { weight: "5" }), without(base, 1))).toEqual({ rows: ["bob 40", "ann 5"], clashes: ["ann"] });
  expect(merged(without(base, 1), without(base, 1))).toEqual({ rows: ["bob 40"], clashes: [] });
});

test("rows without a name, and those that are there twice, are kept as they were typed", () => {
  const typed = appended<AllocationDraft>(appended<AllocationDraft>(base, { ...freshAllocation, weight: "7" }), { ...bob, weight: "9" });
  expect(merged(typed, replaced(base, 2, { weight: "30" })).rows).toEqual(["ann 60", "bob 30", " 7", "bob 9"]);
});

test("rows that are put together have numbers of their own", () => {
  const { document } = mergedRows(base, appended(base, { ...freshAllocation, apiKeyId: "carl" }), appended(base, { ...freshAllocation, apiKeyId: "dora" }), (row) => row.apiKeyId);
  expect(document.map(({ row }) => row)).toEqual([1, 2, 3, 4]);
});

test("a pool is put together field by field", () => {
  const before: Draft = { ...newDraft("k-1", "kimi"), name: "Team", allocations: base };
  const mine: Draft = { ...before, name: "Mine", mode: "observe", reserve: "50", allocations: replaced(base, 1, { weight: "70" }) };
  const theirs: Draft = {
    ...before, name: "Theirs", onDegraded: "closed", reserve: "50", allocations: replaced(base, 2, { suspended: true }),
    modelCaps: [{ row: 1, apiKeyId: "ann", model: "k2", capUnit: "requests", capValue: "3" }],
  };
  const { document, clashes } = mergedPool(before, mine, theirs);
  expect(document).toEqual({
    ...before, name: "Mine", mode: "observe", onDegraded: "closed", reserve: "50", modelCaps: theirs.modelCaps,
    allocations: rows({ ...ann, weight: "70" }, { ...bob, suspended: true }),
  });
  expect(clashes).toEqual(["name"]);
});
