// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Pool } from "../api/types";
import { useCappedModels } from "./models";
import { newSession, SessionProvider } from "./session";

let root: HTMLElement;
let asked: string[];

beforeEach(() => {
  asked = [];
  root = document.createElement("div");
  document.body.replaceChildren(root);
});
afterEach(() => act(() => render(null, root)));

const cap = (apiKeyId: string, model: string) => ({ apiKeyId, model, capUnit: "tokens", capValue: 1 });
const pool = (id: string, ...modelCaps: object[]): Pool => ({ id, modelCaps }) as unknown as Pool;

function Shown({ of }: { of: Pool[] }) {
  return <p>{useCappedModels(of.map((one) => ({ pool: one, usage: null }))).map((m) => [m.poolId, m.apiKeyId, m.reply.reason].join(" ")).join("; ")}</p>;
}

/** An engine that blocks everybody at the cap of a model. */
function draw(...of: Pool[]): void {
  const session = newSession((url) => {
    asked.push(String(url));
    return Promise.resolve(new Response(JSON.stringify({ decision: "block", reason: "model-cap" }), { headers: { "Content-Type": "application/json" } }));
  });
  act(() => render(<SessionProvider value={session}><Shown of={of} /></SessionProvider>, root));
}

test("each cap of a model is asked for, but those of everyone else", async () => {
  draw(pool("a", cap("gus", "glm-4"), cap("*", "glm-4")), pool("b", cap("gus", "k 2")));
  await vi.waitFor(() => expect(root.textContent).toBe("a gus model-cap; b gus model-cap"));
  expect(asked.map((url) => Object.fromEntries(new URL(url, "http://engine").searchParams))).toEqual([
    { apiKeyId: "gus", pool: "a", model: "glm-4" }, { apiKeyId: "gus", pool: "b", model: "k 2" },
  ]);
});

test("no more than fifty are", async () => {
  draw(pool("a", ...Array.from({ length: 51 }, (_, i) => cap(`key-${i}`, "glm-4"))));
  await vi.waitFor(() => expect(root.textContent).not.toBe(""));
  expect(asked).toHaveLength(50);
});

test("where there is none, nothing is asked", async () => {
  draw(pool("a"));
  await act(() => Promise.resolve());
  expect(asked).toEqual([]);
});
