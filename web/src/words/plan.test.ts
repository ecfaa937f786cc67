import { describe, expect, test } from "vitest";
import type { Dimension, Plan } from "../api/types";
import { dimensionText, planOrigin } from "./plan";

test.each<[Dimension, string]>([
  [{ unit: "requests", window: "hourly", limit: 1500 }, "1,500 requests per hour"],
  [{ unit: "usd", window: "monthly", limit: "66.670000001" }, "$66.670000001 per 30 days"],
  [{ unit: "percent", window: "5h", limit: 80 }, "80 points of the provider's 5-hour window"],
  [{ unit: "tokens", window: "weekly", limit: 0 }, "tokens per week: limit not known"],
])("%j: %s", (d, want) => expect(dimensionText(d).replaceAll("\u00a0", " ")).toBe(want));

describe("where a plan comes from", () => {
  const of = (plan: Partial<Plan>): Plan => ({ connectionId: "c", provider: "kimi", poolId: null, dimensions: [], source: "none", revision: 0, warnings: [], ...plan });
  test.each<[Partial<Plan>, string]>([
    [{ source: "catalogue" }, "what kimi is known to sell"],
    [{ source: "manual" }, "limits nothing"],
    [{ source: "manual", dimensions: [{ unit: "usd", window: "daily", limit: 1 }] }, "before the catalogue"],
    [{}, "the catalogue has none for kimi"],
    [{ provider: "" }, "nobody said whose connection it is"],
  ])("%j", (plan, want) => expect(planOrigin(of(plan))).toContain(want));
});
