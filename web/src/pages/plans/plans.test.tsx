// @vitest-environment happy-dom
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";
import type { Plan } from "../../api/types";
import { pageStage, refused } from "../stage";
import { PlansPage } from ".";

const catalogue = [{ provider: "kimi", aliases: ["moonshot"], dimensions: [{ unit: "requests", window: "hourly", limit: 1500 }] }];
const asSold: Plan = { connectionId: "k-1", provider: "kimi", poolId: "team", dimensions: [{ unit: "requests", window: "hourly", limit: 1500 }], source: "catalogue", revision: 0, warnings: [] };
const byHand: Plan = { ...asSold, connectionId: "k-2", source: "manual", revision: 4, dimensions: [{ unit: "usd", window: "daily", limit: "66.670000001" }], actor: "nina", reason: "the new contract", updatedAt: "2026-09-21T14:00:00.000Z" };
const effects = { dryRun: true, blocked: [], freed: [] };

/** null for an engine that cannot be reached. */
let plans: Plan[] | null;

const stage = pageStage((path) => {
  if (!plans) throw new TypeError("no network");
  if (!path.startsWith("plans/")) return { plans, total: plans.length, catalogue };
  return { plan: plans.find((plan) => path === `plans/${plan.connectionId}`) };
});

beforeEach(() => void (plans = [asSold, byHand]));

test("the list says what each connection may use, and where that comes from", async () => {
  await stage.open(<PlansPage id="" query={{}} />);
  const rows = [...stage.root.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => (cell.textContent ?? "").replaceAll("\u00a0", " ")));
  expect(rows).toEqual([
    ["k-1", "kimi", "team", "from the provider's catalogue", "1,500 requests per hour"],
    ["k-2", "kimi", "team", "set by hand", "$66.670000001 per day"],
    ["kimi", "moonshot", "1,500 requests per hour"],
  ]);
  await stage.type("Connection or provider", "K-2");
  expect(stage.root.querySelectorAll("tbody tr")).toHaveLength(1);
});

test("a pool is called by its name, and found by it", async () => {
  await stage.open(<PlansPage id="" query={{}} />);
  act(() => stage.session.store.setPools([{ id: "team", name: "Our people" } as never]));
  await stage.type("Connection or provider", "our people");
  expect([...stage.root.querySelectorAll("tbody td:nth-child(3)")].map((cell) => cell.textContent)).toEqual(["Our people", "Our people"]);
});

test("a plan of the catalogue can be changed, and cannot be reverted", async () => {
  await stage.open(<PlansPage id="k-1" query={{}} />);
  expect(stage.text()).toContain("it has what kimi is known to sell");
  expect(stage.text()).not.toContain("Revert…");
  stage.answer(() => ({ body: { ...effects, plan: byHand, blocked: [{ poolId: "team", apiKeyId: "*", reason: "global-saturated", binding: { unit: "requests", window: "hourly" }, retryAfterMs: 60_000 }] } }));
  await stage.type("At most", "1000.5");
  expect(stage.sent).toEqual([{ method: "PUT", path: "plans/k-1?dryRun=true", match: undefined, body: { dimensions: [{ unit: "requests", window: "hourly", limit: "1000.5" }] } }]);
  expect(stage.text()).toContain("everyone else in team: limit used up on requests per hour, for 1 min at most");
  await stage.press("Save the plan");
  expect(stage.sent.at(-1)).toMatchObject({ path: "plans/k-1", match: '"0"' });
});

test("what is wrong with a limit stands beside it", async () => {
  await stage.open(<PlansPage id="k-2" query={{}} />);
  stage.answer(() => refused(400, "invalid", "m", [{ field: "dimensions[1].limit", problem: "is not a number" }]));
  await stage.press("Add a limit");
  await stage.type("At most", "many", 1);
  expect(stage.control("At most", 1).getAttribute("aria-invalid")).toBe("true");
  expect(stage.text()).toContain("is not a number");
});

const changedBy = (seq: number, actor: string): void => {
  act(() => void stage.session.store.take([{ event: "config", data: JSON.stringify({ seq, time: "2026-09-21T15:00:00.000Z", kind: "plan", id: "k-2", change: "put", actor }), id: "" }]));
};

test("what somebody else makes of the plan is shown at once where nothing was typed", async () => {
  await stage.open(<PlansPage id="k-2" query={{}} />);
  plans = [asSold, { ...byHand, revision: 9, dimensions: [{ unit: "usd", window: "daily", limit: 5 }], actor: "tomasz" }];
  changedBy(9, "tomasz");
  await stage.settle();
  expect(stage.control("At most").value).toBe("5");
  expect(stage.text()).not.toContain("meanwhile");
});

test("a change of somebody else is said while one types, and both can hold", async () => {
  await stage.open(<PlansPage id="k-2" query={{}} />);
  stage.answer((of) => (of.match === '"4"' ? refused(412, "lost-race", "somebody else was first") : { body: { ...effects, plan: byHand } }));
  await stage.press("Add a limit");
  await stage.type("At most", "1,000", 1);
  plans = [asSold, { ...byHand, revision: 9, dimensions: [{ unit: "usd", window: "daily", limit: 5 }], actor: "tomasz", reason: "cheaper" }];
  changedBy(9, "tomasz");
  await stage.settle();
  expect(stage.text()).toContain("tomasz changed this plan meanwhile");
  expect(stage.text()).toContain("They changed US dollars per day. Why: cheaper.");
  expect(stage.text()).toContain("You changed requests per hour. The two go together.");
  await stage.press("Save the plan"); // nobody said yet what is to hold
  expect(stage.sent.at(-1)).toMatchObject({ method: "PUT", match: '"4"' });
  await stage.press("Go on with both");
  expect(stage.text()).not.toContain("meanwhile");
  await stage.press("Save the plan");
  expect(stage.sent.at(-1)).toMatchObject({
    path: "plans/k-2", match: '"9"', body: { dimensions: [{ unit: "usd", window: "daily", limit: "5" }, { unit: "requests", window: "hourly", limit: "1000" }] },
  });
});

test("a lost race that the stream did not tell of is found out", async () => {
  await stage.open(<PlansPage id="k-2" query={{}} />);
  stage.answer((of) => (of.match ? refused(412, "lost-race", "somebody else was first") : { body: { ...effects, plan: byHand } }));
  await stage.type("At most", "7");
  plans = [asSold, { ...byHand, revision: 9, dimensions: [{ unit: "usd", window: "daily", limit: 5 }] }];
  await stage.press("Save the plan");
  expect(stage.text()).toContain("nina changed this plan meanwhilesomebody else was first");
  expect(stage.text()).toContain("Of what both of you changed, US dollars per day, yours goes into the form.");
  await stage.press("Take theirs, drop mine");
  expect(stage.control("At most").value).toBe("5");
  expect(stage.text()).toContain("Nothing is changed yet.");
});

test("one's own change is not taken for that of somebody else", async () => {
  await stage.open(<PlansPage id="k-2" query={{}} />);
  stage.answer((of) => {
    if (of.match) {
      plans = [asSold, { ...byHand, revision: 9, dimensions: [{ unit: "usd", window: "daily", limit: 7 }] }];
      changedBy(9, "me"); // the stream may be faster than the answer
    }
    return { body: { ...effects, plan: byHand } };
  });
  await stage.type("At most", "7");
  const said: string[] = [];
  const seen = new MutationObserver(() => void said.push(stage.text()));
  seen.observe(stage.root, { subtree: true, childList: true, characterData: true });
  await stage.press("Save the plan");
  seen.disconnect();
  expect([...said, stage.text()].join()).not.toContain("meanwhile");
  expect(stage.text()).toContain("Nothing is changed yet.");
});

test("a form that is open stays when the network does not", async () => {
  await stage.open(<PlansPage id="k-2" query={{}} />);
  stage.answer(() => ({ body: { ...effects, plan: byHand } }));
  await stage.type("At most", "7");
  plans = null;
  changedBy(9, "tomasz");
  await stage.settle();
  expect(stage.text()).toContain("The plan could not be read");
  expect(stage.control("At most").value).toBe("7");
});

test("a plan set by hand says who set it and why, and is taken back after asking", async () => {
  await stage.open(<PlansPage id="k-2" query={{}} />);
  expect(stage.text()).toContain("by nina: the new contract");
  stage.answer((of) => (of.path.includes("dryRun") ? { body: effects } : refused(412, "lost-race", "somebody else was first")));
  await stage.press("Revert…");
  await stage.press("Revert the plan");
  expect(stage.text()).toContain("Not reverted");
  await stage.type("Why", "sold out", 1);
  stage.answer(() => ({ status: 204, body: null }));
  plans = [asSold, { ...asSold, connectionId: "k-2" }];
  await stage.press("Try again");
  expect(stage.sent.at(-1)).toMatchObject({ method: "DELETE", path: "plans/k-2", match: '"4"', reason: "sold out" });
  expect(stage.text()).toContain("it has what kimi is known to sell");
});

test("who may look alone sees what a plan says, and cannot change it", async () => {
  stage.session.who.identity.value = { needsToken: false, role: "read" };
  await stage.open(<PlansPage id="k-2" query={{}} />);
  expect(stage.text()).toContain("$66.670000001 per day");
  expect(stage.root.querySelectorAll("input, button")).toHaveLength(0);
});

test("of very many connections the first are shown, and every other can be found", async () => {
  plans = Array.from({ length: 300 }, (_, n) => ({ ...asSold, connectionId: `acct-${n}` }));
  await stage.open(<PlansPage id="" query={{}} />);
  expect(stage.text()).toContain("The first 200 of 300 connections are shown");
  await stage.type("Connection or provider", "acct-299");
  expect([...stage.root.querySelectorAll("tbody th")].map((cell) => cell.textContent)).toEqual(["acct-299"]);
});
