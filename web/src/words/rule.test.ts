import { expect, test } from "vitest";
import type { Explanation } from "../api/answers";
import type { Rule } from "../api/types";
import { answered } from "./reply";
import { detailLong, detailShort, ruleSentences } from "./rule";
import { verdict } from "./verdict";

test("each rule is two sentences", () => {
  for (const rule of ["threshold", "guarantee"] as Rule[]) expect(ruleSentences(rule).match(/\. [A-Z]|\.$/g)).toHaveLength(2);
});

const explained = (reply: object, rule: Rule = "guarantee"): Explanation => ({ reply, rules: { pool: { rule } } }) as Explanation;

test("an answer by the guarantee says how it came about, and no other one does", () => {
  const binding = { unit: "requests", window: "hourly" };
  expect(detailLong(explained({ reason: "fair-share", detail: "reserved", binding }))).toBe("What is left of requests per hour is kept for keys that have used less for their weight.");
  expect(detailLong(explained({ reason: "fair-share", detail: "yield", binding }))).toContain("go first");
  expect(detailLong(explained({ reason: "ok", detail: "guaranteed" }))).toContain("promised");
  expect(detailLong(explained({ reason: "ok", detail: "borrowed" }))).toContain("nobody needs");
  for (const reply of [{ reason: "ok" }, { reason: "ok", detail: "the state is 7 s old" }, { reason: "suspended", detail: "ok" }]) expect(detailLong(explained(reply))).toBe("");
  expect(detailLong(explained({ reason: "ok", detail: "ok" }, "threshold"))).toBe("");
});

test("a tag says whether capacity is kept, or others go first", () => {
  expect([detailShort("reserved"), detailShort("yield"), detailShort("ok"), detailShort(undefined)]).toEqual(["kept for others", "others go first", "", ""]);
  const key = { apiKeyId: "ann", allocation: "ann", decision: "block", reason: "fair-share", deprioritize: false, retryAt: null } as const;
  expect(verdict({ ...key, detail: "reserved" }, 0).text).toBe("Blocked: kept for others");
  expect(verdict(key, 0).text).toBe("Blocked: over its fair share");
  const reply = { decisionId: "d", decision: "block", reason: "fair-share", deprioritize: false, scoreFactor: 1, httpStatus: 429, asOf: { seq: 1, time: "", lagMs: 0 } } as const;
  expect(answered({ ...reply, detail: "yield" }, 0).text).toBe("Blocked: others go first");
});
