// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useUnsaved } from "./leave";
import { followAddress, go, route } from "./route";

function Form({ unsaved }: { unsaved: boolean }) {
  useUnsaved(unsaved);
  return null;
}

let root: HTMLElement;
const draw = (unsaved: boolean): void => void act(() => render(<Form unsaved={unsaved} />, root));
const ask = vi.fn<() => boolean>();
const follow = async (hash: string): Promise<void> => {
  location.hash = hash;
  await arrived();
};
const arrived = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
const closes = (): boolean => dispatchEvent(new Event("beforeunload", { cancelable: true }));

followAddress();

beforeEach(async () => {
  root = document.createElement("div");
  vi.stubGlobal("confirm", ask.mockReset().mockReturnValue(false));
  await follow("#/edit/a");
});
afterEach(() => act(() => render(null, root)));

test("what is not saved is asked about, and the page stays", async () => {
  draw(true);
  await follow("#/plans");
  expect([ask.mock.calls.length, route.value.page, location.hash, closes()]).toEqual([1, "edit", "#/edit/a", false]);
});

test("who wants to leaves", async () => {
  draw(true);
  ask.mockReturnValue(true);
  await follow("#/plans");
  expect([ask.mock.calls.length, route.value.page]).toEqual([1, "plans"]);
});

test("what is saved, or gone, is left without a word", async () => {
  draw(true);
  draw(false);
  await follow("#/edit/b");
  draw(true);
  act(() => render(null, root));
  await follow("#/plans");
  expect([ask.mock.calls.length, route.value.page, closes()]).toEqual([0, "plans", true]);
});

test("where the page itself goes, behind a change that was saved, nothing is asked", async () => {
  draw(true);
  go("pool", "a");
  await arrived();
  expect([ask.mock.calls.length, route.value.page]).toEqual([0, "pool"]);
  await follow("#/plans");
  expect(ask).toHaveBeenCalledTimes(1);
  ask.mockReturnValue(true);
  await follow("#/plans");
  await follow("#/pools/a"); // by a click this time
  expect(ask).toHaveBeenCalledTimes(3);
});

test("another question of the same page loses nothing", async () => {
  draw(true);
  await follow("#/edit/a?connection=c");
  expect([ask.mock.calls.length, route.value.query]).toEqual([0, { connection: "c" }]);
  await follow("#/edit/b"); // another pool has a form of its own
  expect([ask.mock.calls.length, route.value.id]).toEqual([1, "a"]);
});
