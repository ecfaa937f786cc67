import { expect, test } from "vitest";
import type { Blocked, KeyVerdict, Pool, Usage } from "../api/types";
import { blockedNow } from "./blocked";

const pool = { id: "team" } as Pool;
const key = (apiKeyId: string, change: Partial<KeyVerdict>): KeyVerdict => ({
  apiKeyId, allocation: apiKeyId, decision: "allow", reason: "ok", deprioritize: false, retryAt: null, ...change,
});
const names = (keys: KeyVerdict[]): string[] => blockedNow([{ pool, usage: { keys } as Usage }], []).map((b) => b.verdict.apiKeyId);

test("who is blocked comes before who only would be, and who is free soonest comes first", () => {
  expect(
    names([
      key("free", {}),
      key("observed", { wouldBlock: true, reason: "fair-share", retryAt: "2026-09-21T14:00:00.000Z" }),
      key("suspended", { decision: "block", reason: "suspended" }),
      key("late", { decision: "block", reason: "fair-share", retryAt: "2026-09-21T16:00:00.000Z" }),
      key("soon", { decision: "block", reason: "fair-share", retryAt: "2026-09-21T15:00:00.000Z" }),
    ]),
  ).toEqual(["soon", "late", "suspended", "observed"]);
});

test("everyone else is one row", () => {
  expect(names([key("*", { decision: "block" }), key("eve", { allocation: "*", decision: "block" }), key("bob", { allocation: null, decision: "block" })])).toEqual(["*", "bob"]);
});

test("a pool without numbers blocks nobody that we know of", () => {
  expect(blockedNow([{ pool, usage: null }], [])).toEqual([]);
});

test("what was met is that of the newest block of the same key, pool and reason", () => {
  const seen = (poolId: string, apiKeyId: string, reason: Blocked["reason"], window: "daily" | "hourly"): Blocked =>
    ({ poolId, apiKeyId, reason, binding: { unit: "tokens", window } }) as Blocked;
  const blocks = [
    seen("other", "ann", "fair-share", "daily"), seen("team", "bob", "fair-share", "daily"), seen("team", "ann", "cap-absolute", "daily"),
    seen("team", "ann", "fair-share", "hourly"), seen("team", "ann", "fair-share", "daily"),
  ];
  const usage = { keys: [key("ann", { decision: "block", reason: "fair-share" })] } as Usage;
  expect(blockedNow([{ pool, usage }], blocks)[0]?.binding).toEqual({ unit: "tokens", window: "hourly" });
});
