import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  readonly right?: boolean;
  /** Below 0 when a comes first; without it the column does not sort. */
  readonly compare?: (a: Row, b: Row) => number;
  readonly cell: (row: Row) => ComponentChildren;
}

interface Props<Row> {
  /** What the table shows, for who does not see what stands above it. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** What makes a row the same row when its figures change. */
  rowKey: (row: Row) => string;
}

export interface Order {
  readonly id: string;
  readonly down: boolean;
}

/** The order after a click on a column: this one upwards, then downwards, then as the rows came. */
export function nextOrder(order: Order | null, id: string): Order | null {
  if (order?.id !== id) return { id, down: false };
  return order.down ? null : { id, down: true };
}

/** The rows in an order; those that are equal stay as they came. */
export function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], order: Order | null): readonly Row[] {
  const compare = columns.find((column) => column.id === order?.id)?.compare;
  if (!order || !compare) return rows;
  return [...rows].sort((a, b) => (order.down ? compare(b, a) : compare(a, b)));
}

/** A table. On narrow screens each row is a small list, and each cell has its column's title. */
export function Table<Row>({ caption, columns, rows, rowKey }: Props<Row>) {
  const [order, setOrder] = useState<Order | null>(null);
  return (
    <div class="table-frame" role="region" aria-label={caption} tabIndex={0}>
      <table class="table">
        <caption class="hidden-text">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.id} column={column} order={order} onSort={() => setOrder(nextOrder(order, column.id))} />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted(rows, columns, order).map((row) => (
            <tr key={rowKey(row)}>{columns.map((column, place) => cell(column, row, place))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The first cell of a row is what the row is about. */
function cell<Row>(column: Column<Row>, row: Row, place: number) {
  const side = column.right ? "right" : undefined;
  const content = <span>{column.cell(row)}</span>;
  return place === 0 ? (
    <th key={column.id} scope="row" class={side} data-label={column.title}>
      {content}
    </th>
  ) : (
    <td key={column.id} class={side} data-label={column.title}>
      {content}
    </td>
  );
}

function Head<Row>({ column, order, onSort }: { column: Column<Row>; order: Order | null; onSort: () => void }) {
  const side = column.right ? "right" : undefined;
  if (!column.compare) {
    return (
      <th scope="col" class={side}>
        <span>{column.title}</span>
      </th>
    );
  }
  const mine = order?.id === column.id ? (order.down ? "descending" : "ascending") : "none";
  return (
    <th scope="col" class={side} aria-sort={mine}>
      <button type="button" onClick={onSort}>
        {column.title}
        <span class="sort-mark" aria-hidden="true">
          {{ none: "", ascending: "↑", descending: "↓" }[mine]}
        </span>
      </button>
    </th>
  );
}
