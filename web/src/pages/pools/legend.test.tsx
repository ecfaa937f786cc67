// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import type { Rule } from "../../api/types";
import { Legend } from "./legend";

function legend(rule?: Rule): string {
  const root = document.createElement("div");
  void act(() => render(<Legend {...(rule && { rule })} />, root));
  return root.textContent ?? "";
}

test("the threshold is explained where there is one", () => {
  expect(legend()).toContain("shares count from here");
  expect(legend("threshold")).toBe(legend());
  expect(legend("guarantee")).not.toContain("shares count from here");
  expect(legend("guarantee")).toContain("the limit");
});
