import { expect, test } from "vitest";
import { isolated } from "./isolated";

test.each(["kimi-berlin", "Überlingen 5", "東京", "é·ß", ""])("%s is written as it is", (name) => expect(isolated(name)).toBe(name));

test.each(["c-\u05d0\u05d1", "\u0641", "c-\u202eRTL", "\u200f1", "\u{1e900}"])("%j turns nothing but itself", (name) =>
  expect(isolated(name)).toBe(`\u2068${name}\u2069`));
