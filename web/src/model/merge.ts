/** Two people changed one document: what both did, put together. */
import { type Draft, fields, type Row } from "./draft";

/** A document with the changes of both, and what both changed, of which mine hold. */
export interface Merged<Document> {
  readonly document: Document;
  readonly clashes: readonly string[];
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** A row without the number that tells it from others on the page. */
const bare = <R extends Row>(row: R | undefined): unknown => row && { ...row, row: 0 };

/** Rows by what they are about. One that nobody has named yet, or that is there twice, is about itself. */
function byName<R extends Row>(list: readonly R[], nameOf: (row: R) => string): Map<string, R> {
  const rows = new Map<string, R>();
  for (const row of list) {
    const name = nameOf(row);
    rows.set(name === "" || rows.has(name) ? `\n${name}\n${row.row}` : name, row);
  }
  return rows;
}

/**
 * Three lists of rows made one: of each row mine, if I changed it, else theirs.
 * The order is theirs, and what I added comes behind it.
 */
export function mergedRows<R extends Row>(base: readonly R[], mine: readonly R[], theirs: readonly R[], nameOf: (row: R) => string): Merged<readonly R[]> {
  const [before, my, their] = [byName(base, nameOf), byName(mine, nameOf), byName(theirs, nameOf)];
  const names = [...new Set([...their.keys(), ...my.keys()])];
  const changed = (to: Map<string, R>, name: string): boolean => !same(bare(before.get(name)), bare(to.get(name)));
  const picked = names.map((name) => (changed(my, name) ? my.get(name) : their.get(name)));
  const clashes = [...new Set([...names, ...before.keys()])].filter((name) => changed(my, name) && changed(their, name) && !same(bare(my.get(name)), bare(their.get(name))));
  return { document: picked.filter((row) => row !== undefined).map((row, place) => ({ ...row, row: place + 1 })), clashes };
}

const lists = {
  connections: (row: Draft["connections"][number]) => row.connectionId.trim(),
  allocations: (row: Draft["allocations"][number]) => row.apiKeyId.trim(),
  modelCaps: (row: Draft["modelCaps"][number]) => (row.apiKeyId.trim() && row.model.trim() ? `${row.apiKeyId.trim()} with ${row.model.trim()}` : ""),
};

/** A pool that two people changed: of every field, and of every row of a list, mine if I changed it, else theirs. */
export function mergedPool(base: Draft, mine: Draft, theirs: Draft): Merged<Draft> {
  const changed = (to: Draft, name: keyof Draft): boolean => !same(base[name], to[name]);
  const plainFields = fields.filter((name) => !(name in lists));
  const plain = Object.fromEntries(plainFields.map((name) => [name, (changed(mine, name) ? mine : theirs)[name]])) as Partial<Draft>;
  const connections = mergedRows(base.connections, mine.connections, theirs.connections, lists.connections);
  const allocations = mergedRows(base.allocations, mine.allocations, theirs.allocations, lists.allocations);
  const modelCaps = mergedRows(base.modelCaps, mine.modelCaps, theirs.modelCaps, lists.modelCaps);
  return {
    document: { ...theirs, ...plain, connections: connections.document, allocations: allocations.document, modelCaps: modelCaps.document },
    clashes: [
      ...plainFields.filter((name) => changed(mine, name) && changed(theirs, name) && !same(mine[name], theirs[name])),
      ...[connections, allocations, modelCaps].flatMap(({ clashes }) => clashes),
    ],
  };
}
