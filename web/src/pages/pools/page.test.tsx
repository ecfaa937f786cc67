// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Role } from "../../api/identity";
import type { Pool, Usage } from "../../api/types";
import { newSession, SessionProvider, type Session } from "../../state/session";
import { PoolsPage } from ".";

let root: HTMLElement;
let session: Session;

beforeEach(() => {
  localStorage.clear();
  root = document.createElement("div");
  document.body.replaceChildren(root);
  session = newSession(() => Promise.reject(new Error("nobody answers")));
});
afterEach(() => act(() => render(null, root)));

const draw = (role?: Role): void =>
  void act(() => {
    if (role) session.who.identity.value = { needsToken: false, role };
    render(<SessionProvider value={session}><PoolsPage /></SessionProvider>, root);
  });

const links = (): string[] => [...root.querySelectorAll("a")].map((a) => a.textContent ?? "");

const pool = { id: "team", name: "Team", provider: "kimi", mode: "observe", connectionIds: ["a", "b", "c", "d"], allocations: [{ apiKeyId: "ann" }], modelCaps: [] } as unknown as Pool;
const usage = { poolId: "team", generatedAt: "", asOf: { time: "2026-09-21T14:00:00Z" }, mode: "observe", enforcing: false, dimensions: [], signals: [], keys: [] } as unknown as Usage;

test("without a pool the first is offered", () => {
  draw();
  act(() => session.store.setPools([]));
  expect(links()).toEqual(["New pool", "Create the first one"]);
});

test("who may only look is offered no change", () => {
  draw("read");
  act(() => session.store.setPools([]));
  expect(links()).toEqual([]);
  act(() => session.store.setPools([pool]));
  act(() => session.store.setUsage(usage));
  expect(links()).not.toContain("Set a limit");
});

test("a card tells what the pool is, and why it holds nobody to anything", () => {
  draw("admin");
  act(() => session.store.setPools([pool]));
  act(() => session.store.setUsage(usage));
  const card = root.querySelector("article")?.textContent ?? "";
  expect(card.replaceAll("\u00a0", " ")).toContain("kimi · 4 connections · 1 allocation");
  expect([...root.querySelectorAll(".tag")].map((tag) => tag.textContent)).toEqual(["Observes", "Enforces nothing"]);
  expect(links()).toContain("Set a limit");
});
