import { expect, test } from "vitest";
import type { Usage } from "../api/types";
import { ownRows } from "./own";

const dimension = (unit: string, window: string, ...keys: string[]) => ({ unit, window, perKey: keys.map((apiKeyId) => ({ apiKeyId, consumed: apiKeyId.length })) });
const pool = (id: string, keys: string[], ...dimensions: object[]) =>
  ({ id, usage: { poolId: id, dimensions, keys: keys.map((apiKeyId) => ({ apiKeyId, reason: "ok" })) } as unknown as Usage });

test("a key has a row for each thing that is counted, in each pool that shows it", () => {
  const rows = ownRows("ann", [
    pool("a", ["bob", "ann"], dimension("tokens", "5h", "bob", "ann"), dimension("requests", "daily", "bob", "ann")),
    pool("b", ["bob"], dimension("tokens", "5h", "bob")),
    pool("c", [], dimension("usd", "weekly", "ann")),
  ]);
  expect(rows.map((row) => [row.id, row.use.consumed, row.verdict?.apiKeyId])).toEqual([
    ["a/tokens/5h", 3, "ann"],
    ["a/requests/daily", 3, "ann"],
    ["c/usd/weekly", 3, undefined],
  ]);
});
