// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { pageStage } from "../stage";
import { OwnPage } from ".";

const perKey = [{ apiKeyId: "ann", allocation: "ann", consumed: 120, held: 0, fairShare: 100, deficit: 20, borrowing: true, remaining: 5, burnRate: { perSecond: 0 } }];
const usage = {
  poolId: "team",
  keys: [{ apiKeyId: "ann", allocation: "ann", decision: "block", reason: "fair-share", deprioritize: false, retryAt: null }],
  dimensions: [{ unit: "requests", window: "hourly", limit: 1000, perKey }],
};

const on = pageStage((path) => {
  if (path.startsWith("keys")) return { keys: [{ apiKeyId: "ann", pools: [{ poolId: "team" }, { poolId: "crowd" }] }], total: 1 };
  if (path.startsWith("pools/team/usage")) return { usage };
  return Response.json({ error: { code: "not-found", message: `there is no ${path}` } }, { status: 404 });
});

test("each key of the token stands with what it used of its share", async () => {
  on.session.who.identity.value = { needsToken: false, role: "self", name: "ann", keys: ["ann", "ann-at-home"] };
  await on.open(<OwnPage />);
  for (const text of ["2 keys", "team", "120 requests", "100 requests", "120 % of it used", "borrows 20 requests", "over its fair share", "ann-at-home", "It is in no pool"]) {
    expect(on.text()).toContain(text);
  }
  expect(on.text()).not.toContain("crowd");
});
