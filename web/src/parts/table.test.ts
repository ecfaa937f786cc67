import { expect, test } from "vitest";
import { type Column, nextOrder, sorted } from "./table";

interface Row {
  name: string;
  used: number;
}

const rows: Row[] = [{ name: "b", used: 2 }, { name: "a", used: 2 }, { name: "c", used: 1 }];
const columns: Column<Row>[] = [
  { id: "name", title: "Name", cell: (row) => row.name },
  { id: "used", title: "Used", compare: (a, b) => a.used - b.used, cell: (row) => row.used },
];
const names = (of: readonly Row[]): string => of.map((row) => row.name).join("");

test("a column is clicked upwards, downwards, and away", () => {
  const up = nextOrder(null, "used");
  const down = nextOrder(up, "used");
  expect([up, down, nextOrder(down, "used")]).toEqual([{ id: "used", down: false }, { id: "used", down: true }, null]);
  expect(nextOrder(down, "name")).toEqual({ id: "name", down: false });
});

test("rows are in order, and equal ones as they came", () => {
  expect(names(sorted(rows, columns, { id: "used", down: false }))).toBe("cba");
  expect(names(sorted(rows, columns, { id: "used", down: true }))).toBe("bac");
  expect(names(rows)).toBe("bac");
});

test("without an order, and by a column that has none, rows stay as they came", () => {
  for (const order of [null, { id: "name", down: true }, { id: "gone", down: true }]) expect(names(sorted(rows, columns, order))).toBe("bac");
});
