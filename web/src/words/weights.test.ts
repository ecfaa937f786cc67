import { expect, test } from "vitest";
import { weightPart, weightSum } from "./weights";

test.each([
  [[], "Nobody has a share yet."],
  [[0, "0"], "All weights are 0: everybody has an equal part."],
  [["33.34", "33.33", "33.33"], "Weights sum to 100."],
  [[40, "12.5"], "Weights sum to 52.5: the other 47.5 of 100 is nobody's share."],
  [[100, "0.000001"], "Weights sum to 100.000001: more than 100, so every share is made smaller."],
])("%j: %s", (weights, want) => expect(weightSum(weights).text).toBe(want));

test.each([
  [40, [40, 60], "40 % of the limit"],
  [40, [40], "40 % of the limit"],
  [100, [100, 50], "66.66 % of the limit"],
  [0, [0, 0, 0], "1 of 3 equal parts"],
  [0, [0, 10], "0 % of the limit"],
])("%j of %j is %s", (weight, weights, want) => expect(weightPart(weight, weights).replace("\u00a0", " ")).toBe(want));
