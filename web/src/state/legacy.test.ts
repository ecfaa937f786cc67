import { expect, test } from "vitest";
import { readLegacy } from "./legacy";

test.each([
  [null, { kind: "none" }],
  ["", { kind: "none" }],
  [" \n", { kind: "none" }],
  ["null", { kind: "none" }],
  ['""', { kind: "none" }],
  ["[]", { kind: "none" }],
  ['{"pools":[],"total":0}', { kind: "none" }],
  ['[{"id":"a"},7]', { kind: "pools", documents: [{ id: "a" }, 7] }],
  ['{"pools":[{"id":"a"}]}', { kind: "pools", documents: [{ id: "a" }] }],
])("%j", (text, want) => expect(readLegacy(text)).toEqual(want));

test.each(["[{", "7", '{"pool":{}}', '{"pools":{}}', "team"])("%s is no list of pools", (text) => expect(readLegacy(text).kind).toBe("unreadable"));
