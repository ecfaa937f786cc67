// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FilterText } from "./filters";

let root: HTMLElement;
const onChange = vi.fn();

beforeEach(() => {
  root = document.createElement("div");
  document.body.replaceChildren(root);
  onChange.mockReset();
});
afterEach(() => act(() => render(null, root)));

const draw = (value: string, known: string[] = []): void => void act(() => render(<FilterText label="Key" value={value} known={known} onChange={onChange} />, root));
const input = (): HTMLInputElement => root.querySelector("input")!;
const type = (text: string, event: "input" | "change"): void =>
  void act(() => {
    input().value = text;
    input().dispatchEvent(new Event(event, { bubbles: true }));
  });

test("what is being typed stays when the page is drawn anew, and is told when it is done", () => {
  draw("");
  type("an", "input");
  draw("", ["ann"]);
  expect(input().value).toBe("an");
  expect(onChange).not.toHaveBeenCalled();
  type(" ann ", "change");
  expect(onChange.mock.calls).toEqual([["ann"]]);
});

test("what was typed and taken back holds nothing up", () => {
  draw("ann");
  type("anna", "input");
  type("ann", "input");
  draw("bob");
  expect(input().value).toBe("bob");
  type("bob", "change");
  expect(onChange).not.toHaveBeenCalled();
});
