// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Boundary } from "./boundary";

let root: HTMLElement;
let broken = true;

function Fragile() {
  if (broken) throw new Error("the numbers do not add up");
  return <p>all is well</p>;
}

const draw = (of: string): void =>
  void act(() =>
    render(
      <div>
        frame
        <Boundary of={of}>
          <Fragile />
        </Boundary>
      </div>,
      root,
    ),
  );

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  root = document.createElement("div");
  broken = true;
});
afterEach(() => void vi.restoreAllMocks());

test("a fault of a page leaves the frame, is said, and is in the console", () => {
  draw("pools/");
  expect(root.textContent).toMatch(/^frame.*The engine is not affected. What went wrong: the numbers do not add up/);
  expect(console.error).toHaveBeenCalled();
});

test("the page can be tried again", () => {
  draw("pools/");
  broken = false;
  act(() => root.querySelector("button")?.click());
  expect(root.textContent).toBe("frameall is well");
});

test("another page is not taken for the one that failed", () => {
  draw("pools/");
  broken = false;
  draw("pools/");
  expect(root.textContent).toMatch("What went wrong");
  draw("plans/");
  expect(root.textContent).toBe("frameall is well");
});
