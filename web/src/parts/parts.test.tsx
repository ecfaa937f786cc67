// @vitest-environment happy-dom
import { type ComponentChild, render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ApiError } from "../api/error";
import { bar } from "../model/bar";
import { newSession, SessionProvider } from "../state/session";
import { Bar } from "./bar";
import { Choice, Field } from "./field";
import { Amount, Percent, When } from "./figures";
import { ErrorNotice, Notice } from "./notice";
import { Table } from "./table";
import { tabAfter, Tabs } from "./tabs";

let root: HTMLElement;

beforeEach(() => {
  root = document.createElement("div");
  document.body.replaceChildren(root);
});
afterEach(() => act(() => render(null, root)));

const draw = (what: ComponentChild): void => void act(() => render(what, root));
const all = (selector: string): HTMLElement[] => [...root.querySelectorAll<HTMLElement>(selector)];
const one = (selector: string): HTMLElement => {
  const found = all(selector);
  if (found.length !== 1 || !found[0]) throw new Error(`${found.length} of ${selector} in ${root.innerHTML}`);
  return found[0];
};

describe("Field", () => {
  test("hint and problem belong to the control", () => {
    draw(<Field label="Name" hint="As people say it." problem="is missing">{(control) => <input {...control} />}</Field>);
    const input = one("input");
    expect(one("label").getAttribute("for")).toBe(input.id);
    const told = input.getAttribute("aria-describedby")?.split(" ").map((id) => document.getElementById(id)?.textContent);
    expect(told).toEqual(["As people say it.", "is missing"]);
    expect(input.getAttribute("aria-invalid")).toBe("true");
  });

  test("nothing is told where nothing is wrong", () => {
    draw(<Field label="Name">{(control) => <input {...control} />}</Field>);
    expect(one("input").hasAttribute("aria-describedby")).toBe(false);
    expect(one("input").getAttribute("aria-invalid")).toBe("false");
  });
});

test("Choice tells what was chosen", () => {
  const onChange = vi.fn();
  draw(<Choice label="Policy" value="soft" options={[{ value: "hard", text: "Hard" }, { value: "soft", text: "Soft" }]} onChange={onChange} />);
  const [hard, soft] = all("input") as HTMLInputElement[];
  expect([hard?.checked, soft?.checked]).toEqual([false, true]);
  act(() => hard?.click());
  expect(onChange).toHaveBeenCalledWith("hard");
});

describe("Tabs", () => {
  test.each([
    ["ArrowRight", 0, 1], ["ArrowRight", 2, 0], ["ArrowLeft", 0, 2], ["Home", 2, 0], ["End", 0, 2], ["a", 0, -1],
  ])("%s at %i leads to %i", (key, at, to) => expect(tabAfter(key, at, 3)).toBe(to));

  test("arrows select the next and give it the focus", () => {
    const onSelect = vi.fn();
    draw(<Tabs label="Views" tabs={[{ id: "a", title: "A" }, { id: "b", title: "B" }]} selected="a" onSelect={onSelect}>text</Tabs>);
    const [a, b] = all("button");
    expect([a?.tabIndex, b?.tabIndex]).toEqual([0, -1]);
    act(() => void a?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true })));
    expect(onSelect).toHaveBeenCalledWith("b");
    expect(document.activeElement).toBe(b);
    expect(one("[role=tabpanel]").getAttribute("aria-labelledby")).toBe(a?.id);
  });
});

test("Table sorts by a click, says so, and keeps the rows it has", () => {
  const rows = [{ id: "x", n: 2 }, { id: "y", n: 1 }];
  const columns = [
    { id: "id", title: "Key", cell: (row: { id: string }) => row.id },
    { id: "n", title: "Used", right: true, compare: (a: { n: number }, b: { n: number }) => a.n - b.n, cell: (row: { n: number }) => row.n },
  ];
  draw(<Table caption="Keys" columns={columns} rows={rows} rowKey={(row) => row.id} />);
  const first = one("tbody tr:first-child");
  act(() => one("thead button").click());
  expect(all("tbody th").map((cell) => cell.textContent)).toEqual(["y", "x"]);
  expect(one("[aria-sort]").getAttribute("aria-sort")).toBe("ascending");
  expect(first.textContent).toBe("x2"); // moved, not made anew
  expect(one("tbody tr:last-child")).toBe(first);
  expect(one("tbody tr:last-child td").dataset["label"]).toBe("Used");
});

describe("Notice", () => {
  test("what is bad is read out at once", () => {
    draw(<><Notice tone="bad" title="a" /><Notice tone="warn" title="b" /></>);
    expect(all(".notice").map((notice) => notice.getAttribute("role"))).toEqual(["alert", "status"]);
  });

  test("an error is in the engine's words, field by field when there are several", () => {
    const faults = [{ field: "name", problem: "is missing" }, { field: "", problem: "is too large" }];
    draw(<ErrorNotice title="Not saved" error={new ApiError("invalid", "all in one line", 400, faults)} />);
    expect(all("li").map((item) => item.textContent)).toEqual(["name is missing", " is too large"]);
    draw(<ErrorNotice title="Not saved" error={new ApiError("conflict", "all in one line", 409)} />);
    expect(root.textContent).toBe("Not savedall in one line");
  });
});

test("Bar says in words what it shows, and draws what is beyond the limit", () => {
  const d = {
    unit: "requests", window: "hourly", limit: 100, consumedTotal: 200, heldTotal: 0, usedPercent: 200, mode: "strict", strictAt: 50, unlisted: 0,
    perConnection: [], burnRate: { perSecond: 0, timeToExhaustionMs: 0 },
    perKey: [{ apiKeyId: "ann", allocation: "ann", consumed: 200, held: 0, fairShare: 100, deficit: 100, borrowing: true, remaining: 0, burnRate: { perSecond: 0 } }],
  } as const;
  draw(<Bar model={bar({ ...d, perConnection: [], perKey: [...d.perKey] }, new Map([["ann", 3]]))} label="ann has all" describe={(part) => part.kind} />);
  expect(one("[role=img]").getAttribute("aria-label")).toBe("ann has all");
  expect(one(".bar-track .hue-3").style.width).toBe("100.000%");
  expect(one(".bar-shares .hue-3").style.width).toBe("50.000%");
  expect(one(".bar-mark.limit").style.left).toBe("50.000%");
  expect(one(".bar-excess").style.left).toBe("50.000%");
  expect(one(".bar-mark.threshold").title).toBe("threshold");
});

test("figures have all their digits one hover away", () => {
  draw(<><Amount of="12.3456" unit="requests" /><Amount of={null} unit="usd" /><Percent value={33.333333} of="the limit" /><Percent value={null} of="the limit" /></>);
  const spaces = (text: string | null): string => (text ?? "").replaceAll("\u00a0", " ");
  expect(all("span").map((span) => [spaces(span.textContent), spaces(span.getAttribute("title"))])).toEqual([
    ["12.3 requests", "12.3456 requests"],
    ["not known", "not known"],
    ["33.3 % of the limit", "33.333333 % of the limit"],
    ["limit not known", ""],
  ]);
});

test("an instant moves on with the clock", () => {
  const session = newSession(() => Promise.reject(new Error("nobody asks")));
  session.store.now.value = Date.parse("2026-09-21T14:00:00Z");
  draw(
    <SessionProvider value={session}>
      <When at="2026-09-21T13:58:00.000Z" />
      <When at={null} unknown="never" />
    </SessionProvider>,
  );
  expect(one("time").textContent).toBe("2\u00a0min ago");
  expect(one("time").title).toBe("21 September 2026, 13:58:00.000 UTC");
  act(() => void (session.store.now.value += 60_000));
  expect(one("time").textContent).toBe("3\u00a0min ago");
  expect(one("span").textContent).toBe("never");
});
