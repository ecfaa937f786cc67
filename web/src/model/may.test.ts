import { expect, test } from "vitest";
import type { Role } from "../api/identity";
import { type Action, may } from "./may";

test.each<[Role | undefined, Action[]]>([
  [undefined, ["see", "change", "see-own"]],
  ["admin", ["see", "change", "see-own"]],
  ["read", ["see", "see-own"]],
  ["self", ["see-own"]],
  ["ingest", []],
])("%s may %j", (role, want) => {
  const actions: Action[] = ["see", "change", "see-own"];
  expect(actions.filter((action) => may(role, action))).toEqual(want);
});
