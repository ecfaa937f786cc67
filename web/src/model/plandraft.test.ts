import { expect, test } from "vitest";
import type { Plan } from "../api/types";
import { units, windows } from "../words/units";
import { appended, replaced } from "./draft";
import { changedLimits, type DimensionDraft, mergedPlan, nextDimension, planDocument, planDraft } from "./plandraft";

const plan: Plan = {
  connectionId: "c", provider: "kimi", poolId: null, source: "manual", revision: 3, warnings: [],
  dimensions: [{ unit: "requests", window: "hourly", limit: "9007199254740993.001" }, { unit: "usd", window: "daily", limit: 0 }],
};

test("a plan that nobody changed is sent as it was, and a limit of 0 as not known", () =>
  expect(planDocument(planDraft(plan))).toEqual({
    dimensions: [{ unit: "requests", window: "hourly", limit: "9007199254740993.001" }, { unit: "usd", window: "daily" }],
  }));

test("what was typed goes as it is: the engine judges it", () =>
  expect(planDocument([{ row: 1, unit: "usd", window: "5h", limit: " 1,5 " }])).toEqual({ dimensions: [{ unit: "usd", window: "5h", limit: "1,5" }] }));

test("a new dimension is one that the plan has not", () => {
  expect(nextDimension([], units, windows)).toEqual({ unit: "requests", window: "hourly" });
  expect(nextDimension(planDraft(plan), units, windows)).toEqual({ unit: "requests", window: "5h" });
});

test("limits that two people changed are put together", () => {
  const theirs: Plan = { ...plan, dimensions: [{ unit: "requests", window: "hourly", limit: 5 }, { unit: "usd", window: "daily", limit: 20 }] };
  const mine = appended<DimensionDraft>(replaced(planDraft(plan), 1, { limit: "7" }), { unit: "tokens", window: "weekly", limit: "1,000" });
  const { document, clashes } = mergedPlan(plan, mine, theirs);
  expect(document.map(({ unit, limit }) => `${unit} ${limit}`)).toEqual(["requests 7", "usd 20", "tokens 1,000"]);
  expect(clashes).toEqual(["requests per hour"]);
  expect(changedLimits(planDraft(plan), mine)).toMatchObject([{ unit: "requests", window: "hourly" }, { unit: "tokens", window: "weekly" }]);
  expect(planDocument(document).dimensions[2]).toEqual({ unit: "tokens", window: "weekly", limit: "1000" });
});
