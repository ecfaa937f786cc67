import { expect, test } from "vitest";
import { decisionFilter, merged, rejectedFilter, withFilter } from "./filters";

const now = Date.parse("2026-09-21T14:00:00Z");

test("a filter is set, changed and taken away", () => {
  expect(withFilter({ key: "ann" }, "pool", "team")).toEqual({ key: "ann", pool: "team" });
  expect(withFilter({ key: "ann", pool: "team" }, "key", "")).toEqual({ pool: "team" });
});

test("the address becomes a question", () =>
  expect(decisionFilter({ key: "ann", connection: "kimi-1", pool: "team", decision: "would-block", reason: "cap-absolute", span: "day" }, now)).toEqual({
    apiKeyId: "ann", connectionId: "kimi-1", poolId: "team", decision: "would-block", reason: "cap-absolute", from: "2026-09-20T14:00:00.000Z",
  }));

test("a time of one's own has a beginning, an end, or both", () => {
  const [from, to] = ["1790000000000", "1790000060000"];
  expect(decisionFilter({ span: "between", from, to }, now)).toEqual({ from: "2026-09-21T14:13:20.000Z", to: "2026-09-21T14:14:20.000Z" });
  expect(decisionFilter({ span: "between", to, from: "soon" }, now)).toEqual({ to: "2026-09-21T14:14:20.000Z" });
  expect(decisionFilter({ span: "hour", from, to }, now)).toEqual({ from: "2026-09-21T13:00:00.000Z" });
  expect(decisionFilter({ from, to }, now)).toEqual({});
});

test("what the address has wrong asks nothing", () => expect(decisionFilter({ decision: "maybe", reason: "", span: "aeon", x: "y" }, now)).toEqual({}));

test("rows that come again are the newer ones, and there once", () => {
  const row = (id: string, n: number) => ({ id, n });
  expect(merged([row("c", 1), row("b", 2)], [row("b", 1), row("a", 1)], ({ id }) => id)).toEqual([row("c", 1), row("b", 2), row("a", 1)]);
});

test("the address becomes a question for rejected events", () => {
  expect(rejectedFilter({ reason: "undecodable", text: " ann " })).toEqual({ reason: "undecodable", text: "ann" });
  expect(rejectedFilter({ reason: "ugly", text: " ", x: "y" })).toEqual({});
});
