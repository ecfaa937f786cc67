import { expect, test } from "vitest";
import { href, pageNames, parseRoute } from "./route";

test.each([
  ["", "pools", "", {}],
  ["#", "pools", "", {}],
  ["#/", "pools", "", {}],
  ["#/pools", "pools", "", {}],
  ["#/pools/", "pools", "", {}],
  ["#/pools/team%20a%2F1%25", "pool", "team a/1%", {}],
  ["#/pools/a/b", "pool", "a/b", {}],
  ["#/pools/a%3Fb?x=1&y=%26", "pool", "a?b", { x: "1", y: "&" }],
  ["#/why?decisionId=d1", "why", "", { decisionId: "d1" }],
  ["#/nowhere", null, "", {}],
  ["#/pools/%E0", null, "", {}],
])("%s", (hash, page, id, query) => expect(parseRoute(hash)).toEqual({ page, id, query }));

test("an address leads where it was made for", () => {
  for (const page of pageNames) {
    const id = page === "pools" ? "" : "qtSd/a b%?#ä";
    expect(parseRoute(href(page, id, { key: "a&b", "": "=" }))).toEqual({ page, id, query: { key: "a&b", "": "=" } });
  }
});
