import { expect, test } from "vitest";
import { listed } from "./poolfield";

test.each([
  [[], ""],
  [["name"], "its name"],
  [["name", "allocations"], "its name and its shares"],
  [["mode", "toString", "*"], "its mode, toString and everyone else"],
])("%j", (fields, want) => expect(listed(fields)).toBe(want));
