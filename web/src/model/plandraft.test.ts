import { expect, test } from "vitest";
import type { Plan } from "../api/types";
import { units, windows } from "../words/units";
import { nextDimension, planDocument, planDraft } from "./plandraft";

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
