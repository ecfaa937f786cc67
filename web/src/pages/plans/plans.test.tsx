// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import type { Plan } from "../../api/types";
import { pageStage, refused } from "../stage";
import { PlansPage } from ".";

const catalogue = [{ provider: "kimi", aliases: ["moonshot"], dimensions: [{ unit: "requests", window: "hourly", limit: 1500 }] }];
const asSold: Plan = { connectionId: "k-1", provider: "kimi", poolId: "team", dimensions: [{ unit: "requests", window: "hourly", limit: 1500 }], source: "catalogue", revision: 0, warnings: [] };
const byHand: Plan = { ...asSold, connectionId: "k-2", source: "manual", revision: 4, dimensions: [{ unit: "usd", window: "daily", limit: "66.670000001" }], actor: "nina", reason: "the new contract", updatedAt: "2026-09-21T14:00:00.000Z" };
const effects = { dryRun: true, blocked: [], freed: [] };

let plans: Plan[];

const stage = pageStage((path) => {
  if (!path.startsWith("plans/")) return { plans, total: 2, catalogue };
  return { plan: plans.find((plan) => path === `plans/${plan.connectionId}`) };
});

beforeEach(() => void (plans = [asSold, byHand]));

test("the list says what each connection may use, and where that comes from", async () => {
  await stage.open(<PlansPage id="" query={{}} />);
  const rows = [...stage.root.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => (cell.textContent ?? "").replaceAll("\u00a0", " ")));
  expect(rows).toEqual([
    ["k-1", "kimi", "team", "from the provider's catalogue", "1,500 requests per hour"],
    ["k-2", "kimi", "team", "set by hand", "$66.670000001 per day"],
    ["kimi", "moonshot", "1,500 requests per hour"],
  ]);
  await stage.type("Connection or provider", "K-2");
  expect(stage.root.querySelectorAll("tbody tr")).toHaveLength(1);
});

test("a plan of the catalogue can be changed, and cannot be reverted", async () => {
  await stage.open(<PlansPage id="k-1" query={{}} />);
  expect(stage.text()).toContain("it has what kimi is known to sell");
  expect(stage.text()).not.toContain("Revert…");
  stage.answer(() => ({ body: { ...effects, plan: byHand, blocked: [{ poolId: "team", apiKeyId: "*", reason: "global-saturated", binding: { unit: "requests", window: "hourly" }, retryAfterMs: 60_000 }] } }));
  await stage.type("At most", "1000.5");
  expect(stage.sent).toEqual([{ method: "PUT", path: "plans/k-1?dryRun=true", match: undefined, body: { dimensions: [{ unit: "requests", window: "hourly", limit: "1000.5" }] } }]);
  expect(stage.text()).toContain("everyone else in team: limit used up on requests per hour, for 1 min at most");
  await stage.press("Save the plan");
  expect(stage.sent.at(-1)).toMatchObject({ path: "plans/k-1", match: '"0"' });
});

test("what is wrong with a limit stands beside it", async () => {
  await stage.open(<PlansPage id="k-2" query={{}} />);
  stage.answer(() => refused(400, "invalid", "m", [{ field: "dimensions[1].limit", problem: "is not a number" }]));
  await stage.press("Add a limit");
  await stage.type("At most", "many", 1);
  expect(stage.control("At most", 1).getAttribute("aria-invalid")).toBe("true");
  expect(stage.text()).toContain("is not a number");
});

test("a plan set by hand says who set it and why, and is taken back after asking", async () => {
  await stage.open(<PlansPage id="k-2" query={{}} />);
  expect(stage.text()).toContain("by nina: the new contract");
  stage.answer((of) => (of.path.includes("dryRun") ? { body: effects } : refused(412, "lost-race", "somebody else was first")));
  await stage.press("Revert…");
  await stage.press("Revert the plan");
  expect(stage.text()).toContain("Not reverted");
  stage.answer(() => ({ status: 204, body: null }));
  plans = [asSold, { ...asSold, connectionId: "k-2" }];
  await stage.press("Try again");
  expect(stage.sent.at(-1)).toMatchObject({ method: "DELETE", path: "plans/k-2", match: '"4"' });
  expect(stage.text()).toContain("it has what kimi is known to sell");
});
