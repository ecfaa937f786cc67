// @vitest-environment happy-dom
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";
import type { Plan, Pool } from "../../api/types";
import { pageStage, refused } from "../stage";
import { EditPage } from ".";

const team: Pool = {
  id: "team", name: "Team", provider: "kimi", mode: "enforce", rule: "threshold", reserve: 100, onDegraded: "open",
  connections: [{ connectionId: "k-1", weight: 100 }], connectionIds: ["k-1"],
  allocations: [{ apiKeyId: "ann", weight: 60, policy: "soft" }, { apiKeyId: "*", weight: 40, policy: "hard" }],
  modelCaps: [], createdAt: "2026-09-21T14:00:00.000Z", revision: 7, enforcing: true, warnings: [],
};
const catalogue = [{ provider: "kimi", aliases: [], dimensions: [{ unit: "requests", window: "hourly", limit: 1500 }] }];
const effects = { dryRun: true, blocked: [], freed: [] };

/** What each key could use; a Response of its own where the engine refuses. */
let reach: () => unknown = () => ({ reach: { dimensions: [], total: 0 } });

/** The pool as the list of all has it. */
let listed = team;
let plans: Plan[] = [];
beforeEach(() => void ([listed, plans, reach] = [team, [], () => ({ reach: { dimensions: [], total: 0 } })]));

const stage = pageStage((path) => {
  if (path.startsWith("pools/")) return { pool: team };
  if (path.startsWith("pools")) return { pools: [listed], total: 1 };
  if (path === "reach") return reach();
  if (path.startsWith("plans")) return { plans, total: plans.length, catalogue };
  return { keys: [], connections: [], total: 0 };
});

const open = (id: string): Promise<void> => {
  stage.answer(() => ({ body: { ...effects, pool: team } }));
  return stage.open(<EditPage id={id} query={{}} />);
};

test("weights are summed, split, and worked out while they are typed", async () => {
  await open("team");
  expect(stage.text()).toContain("Weights sum to 100.");
  expect(stage.text()).toContain("1,500 requests for all" + "ann" + "900" + "everyone else" + "600");
  await stage.type("Weight", "20");
  expect(stage.text()).toContain("Weights sum to 60: the other 40 of 100 is nobody's share.");
  await stage.press("Add a key");
  await stage.press("Split equally");
  expect([0, 1, 2].map((place) => stage.control("Weight", place).value)).toEqual(["33.34", "33.33", "33.33"]);
  expect(stage.text()).toContain("500.1");
});

test("what is typed is tried, and only what differs is sent", async () => {
  await open("team");
  expect(stage.sent).toEqual([]);
  stage.answer(() => ({ body: { ...effects, pool: team, blocked: [{ poolId: "team", apiKeyId: "ann", reason: "fair-share", binding: { unit: "requests", window: "hourly" }, retryAfterMs: 60_000 }] } }));
  await stage.type("Weight", "20");
  expect(stage.sent).toEqual([{ method: "PATCH", path: "pools/team?dryRun=true", match: undefined, body: { allocations: [{ apiKeyId: "ann", weight: "20", policy: "soft" }, { apiKeyId: "*", weight: "40", policy: "hard" }] } }]);
  expect(stage.text()).toContain("1 key would be blocked right now");
  expect(stage.text()).toContain("ann: over its fair share of requests per hour, for 1 min at most");
});

test("what is typed holds the page, and what is as it was does not", async () => {
  const closes = (): boolean => dispatchEvent(new Event("beforeunload", { cancelable: true }));
  await open("team");
  expect(closes()).toBe(true);
  await stage.type("Weight", "20");
  expect(closes()).toBe(false);
  await stage.type("Weight", "60");
  expect(closes()).toBe(true);
});

test("who would be blocked is asked again every minute, for it is another then", async () => {
  await open("team");
  await stage.type("Weight", "20");
  expect(stage.sent).toHaveLength(1);
  act(() => void (stage.session.store.now.value += 60_000));
  await stage.settle();
  expect(stage.sent.map(({ path }) => path)).toEqual(["pools/team?dryRun=true", "pools/team?dryRun=true"]);
});

test("nobody's share is worked out from a weight that cannot be", async () => {
  await open("team");
  await stage.type("Weight", "100.1");
  expect(stage.text()).toContain("A weight is above 100");
  expect(stage.root.querySelectorAll(".share-list")).toHaveLength(0);
  await stage.type("Weight", "");
  expect(stage.text()).toContain("1 key has no weight: type one, or split equally.");
});

test("what is wrong stands beside its field, in the engine's words", async () => {
  await open("team");
  stage.answer(() => refused(400, "invalid", "m", [{ field: "allocations[1].weight", problem: "is not within 0 to 100" }, { field: "createdAt", problem: "is odd" }]));
  await stage.type("Weight", "400", 1);
  const told = stage.control("Weight", 1).getAttribute("aria-describedby")?.split(" ").map((id) => document.getElementById(id)?.textContent);
  expect(told).toContain("is not within 0 to 100");
  expect(stage.control("Weight", 0).getAttribute("aria-invalid")).toBe("false");
  expect(stage.text()).toContain("createdAt is odd");
});

test("a lost race is shown as such, and one goes on with what both changed", async () => {
  await open("team");
  await stage.type("Name", "Mine");
  stage.answer((of) => (of.match === '"7"' ? refused(412, "lost-race", "somebody else changed the document first") : { body: { ...effects, pool: team } }));
  await stage.press("Save the pool");
  expect(stage.sent.at(-1)).toMatchObject({ path: "pools/team", match: '"7"', body: { name: "Mine" } });
  expect(stage.text()).toContain("Somebody else changed this pool meanwhilesomebody else changed the document first");
  const theirs: Pool = { ...team, revision: 9, mode: "off", actor: "nina", reason: "holidays", allocations: [{ apiKeyId: "ann", weight: 30, policy: "soft" }] };
  act(() => stage.session.store.setPools([theirs]));
  expect(stage.text()).toContain("nina changed this pool meanwhile");
  expect(stage.text()).toContain("They changed its mode and its shares. Why: holidays.");
  expect(stage.text()).toContain("You changed its name. The two go together.");
  await stage.press("Go on with both");
  expect(stage.text()).not.toContain("meanwhile");
  expect([stage.control("Name").value, stage.control("Weight").value]).toEqual(["Mine", "30"]);
  await stage.press("Save the pool");
  expect(stage.sent.at(-1)).toMatchObject({ path: "pools/team", match: '"9"', body: { name: "Mine" } });
});

test("a lost race that the stream did not tell of is found out", async () => {
  await open("team");
  await stage.type("Name", "Mine");
  stage.answer(() => refused(412, "lost-race", "somebody else changed the document first"));
  listed = { ...team, revision: 9, mode: "off" };
  await stage.press("Save the pool");
  expect(stage.text()).toContain("They changed its mode.");
});

test("of what both changed mine goes into the form, or all of theirs", async () => {
  await open("team");
  await stage.type("Weight", "20");
  const theirs: Pool = { ...team, revision: 9, allocations: [{ apiKeyId: "ann", weight: 55, policy: "soft" }, { apiKeyId: "*", weight: 45, policy: "hard" }] };
  act(() => stage.session.store.setPools([theirs]));
  expect(stage.text()).toContain("Of what both of you changed, ann, yours goes into the form.");
  await stage.press("Go on with both");
  expect([0, 1].map((place) => stage.control("Weight", place).value)).toEqual(["20", "45"]);
  act(() => stage.session.store.setPools([{ ...theirs, revision: 11, name: "Later" }]));
  await stage.press("Take theirs, drop mine");
  expect([stage.control("Name").value, stage.control("Weight").value]).toEqual(["Later", "55"]);
  expect(stage.text()).toContain("Nothing is changed yet.");
});

test("what somebody else changes is simply shown where nothing was typed", async () => {
  await open("team");
  act(() => stage.session.store.setPools([{ ...team, revision: 9, name: "Theirs", actor: "nina" }]));
  expect(stage.text()).toContain("nina changed its name just now: the form has it");
  expect(stage.control("Name").value).toBe("Theirs");
  expect(stage.text()).not.toContain("meanwhile");
});

test("a pool that somebody deleted can be made anew from what was typed", async () => {
  await open("team");
  act(() => stage.session.store.setPools([team]));
  await stage.type("Name", "Mine");
  act(() => stage.session.store.setPools([]));
  expect(stage.text()).toContain("Somebody else deleted this pool meanwhile");
  await stage.press("Make a new one of it");
  expect(stage.control("Id").value).toBe("team");
  stage.answer(() => ({ status: 201, body: { pool: team } }));
  await stage.press("Create the pool");
  expect(stage.sent.at(-1)).toMatchObject({ method: "POST", path: "pools", body: { id: "team", name: "Mine" } });
});

test("the focus goes to the row that was added, and not out of the list with one that was removed", async () => {
  await open("team");
  const button = (name: string, place = 0): HTMLElement => {
    const found = [...stage.root.querySelectorAll<HTMLElement>("button")].filter((each) => each.textContent === name || each.title === name)[place];
    if (!found) throw new Error(`no button ${name}`);
    found.focus();
    return found;
  };
  act(() => button("Add a key").click());
  expect(document.activeElement).toBe(stage.control("Key", 2));
  act(() => button("Remove this key").click());
  expect(document.activeElement).toBe(stage.control("Key", 1));
  stage.control("Name").focus();
  act(() => stage.session.store.setPools([{ ...team, revision: 9, allocations: [...team.allocations, { apiKeyId: "new", weight: 0, policy: "hard" }] }]));
  await stage.settle();
  expect([document.activeElement, stage.control("Key", 2).value]).toEqual([stage.control("Name"), "new"]);
});

test("shares follow a plan that somebody sets meanwhile", async () => {
  await open("team");
  plans = [{ connectionId: "k-1", provider: "kimi", poolId: "team", source: "manual", revision: 9, warnings: [], dimensions: [{ unit: "requests", window: "hourly", limit: 100 }] }];
  act(() => void stage.session.store.take([{ event: "config", data: JSON.stringify({ seq: 9, time: "2026-09-21T15:00:00.000Z", kind: "plan", id: "k-1", change: "put" }), id: "" }]));
  await stage.settle();
  expect(stage.text()).toContain("100 requests for all" + "ann" + "60" + "everyone else" + "40");
});

test("rule and reserve are changed, and what only a later engine goes by is said", async () => {
  await open("team");
  await stage.choose("By guarantee");
  expect(stage.text()).toContain("everything else anyone may use. When the pool is full, what comes free goes first to");
  stage.answer(() => refused(400, "invalid", "m", [{ field: "reserve", problem: "is not within 0 to 400" }]));
  await stage.type("Reserve", "500");
  expect(stage.sent.at(-1)).toMatchObject({ body: { rule: "guarantee", reserve: "500" } });
  expect(stage.control("Reserve").getAttribute("aria-invalid")).toBe("true");
  expect(stage.text()).not.toContain("reserve is not within"); // once is enough
});

test("name and reason go with the change, and the name is typed once", async () => {
  await open("team");
  await stage.type("Name", "Mine");
  await stage.type("Your name", "nina");
  await stage.type("Why", "a better name");
  await stage.press("Save the pool");
  expect(stage.sent.at(-1)).toMatchObject({ path: "pools/team", actor: "nina", reason: "a better name" });
  await stage.press("Delete…");
  expect(stage.control("Your name", 1).value).toBe("nina");
  expect(stage.control("Why", 1).value).toBe("");
});

test("the connection that says what is counted can be another", async () => {
  await open("team");
  await stage.press("Add a connection");
  await stage.type("Connection", "k-2", 1);
  await stage.press("Make it the first");
  expect(stage.sent.at(-1)).toMatchObject({ body: { connections: [{ connectionId: "k-2" }, { connectionId: "k-1" }] } });
});

test("one's own change is not taken for that of somebody else", async () => {
  await open("team");
  await stage.type("Name", "Mine");
  const said: string[] = [];
  stage.answer(() => {
    stage.session.store.setPools([{ ...team, name: "Mine", revision: 9 }]); // the stream may be faster than the answer
    return { body: { pool: { ...team, revision: 9 } } };
  });
  const seen = new MutationObserver(() => void said.push(stage.text()));
  seen.observe(stage.root, { subtree: true, childList: true, characterData: true });
  await stage.press("Save the pool");
  seen.disconnect();
  expect(location.hash).toBe("#/pools/team");
  expect([...said, stage.text()].join()).not.toContain("meanwhile");
});

test("deleting asks first, and a failure is shown and can be tried again", async () => {
  await open("team");
  stage.answer((of) => (of.path.includes("dryRun") ? { body: effects } : refused(503, "unavailable", "the log does not answer")));
  await stage.press("Delete…");
  expect(stage.sent.map(({ method, path }) => [method, path])).toEqual([["DELETE", "pools/team?dryRun=true"]]);
  await stage.type("Why", "no longer needed", 1);
  await stage.press("Delete the pool");
  expect(stage.text()).toContain("Not deleted");
  expect(stage.text()).toContain("the log does not answer");
  stage.answer(() => ({ status: 204, body: null }));
  await stage.press("Try again");
  expect(stage.sent.at(-1)).toMatchObject({ method: "DELETE", path: "pools/team", match: '"7"', reason: "no longer needed" });
  expect(location.hash).toBe("#/pools");
});

test("a new pool says nothing of fields that nobody came to, and all when it is saved", async () => {
  await open("");
  stage.answer(() => refused(400, "invalid", "m", [{ field: "provider", problem: "is missing" }, { field: "connections[0].connectionId", problem: "is missing" }]));
  await stage.type("Name", "New");
  expect(stage.sent).toEqual([{ method: "POST", path: "pools?dryRun=true", match: undefined, body: { name: "New", mode: "enforce", rule: "threshold", onDegraded: "open", connections: [{}], allocations: [{ policy: "hard" }], modelCaps: [] } }]);
  expect(stage.control("Provider").getAttribute("aria-invalid")).toBe("false");
  await stage.press("Create the pool");
  expect(stage.text()).toContain("Not saved");
  expect(stage.text()).toContain("provider is missing");
});

const reached = (...perKey: [string, number, number][]) => ({ reach: { total: 120, dimensions: [
  { unit: "requests", window: "hourly", limit: 1500, perKey: perKey.map(([apiKeyId, threshold, guarantee]) => ({ apiKeyId, fairShare: 600, threshold: { atOnce: threshold, byEnd: threshold }, guarantee: { atOnce: guarantee, byEnd: 1500 } })) },
  { unit: "tokens", window: "daily", limit: null, perKey: [] },
] } });

test("both rules say in two sentences what they do", async () => {
  await open("team");
  expect(stage.text()).toContain("anybody may use what others leave. From then on every key stops at its share");
  await stage.choose("By guarantee");
  expect(stage.text()).toContain("we keep back its fair pace");
  expect(stage.text()).toContain("How much of its pace is kept for each key, in percent: 0 to 400.");
});

test("what each key could use is shown under either rule, while the pool is written", async () => {
  reach = () => reached(["ann", 900, 1110], ["*", 750.001, 840]);
  await open("team");
  const rows = [...stage.root.querySelectorAll("[aria-label='What each key could use'] tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent));
  expect(rows).toEqual([["ann", "900", "900", "1,110", "1,500"], ["everyone else", "750", "750", "840", "1,500"]]);
  expect(stage.text()).toContain("The limit is not known, so no rule stops anybody.");
  expect(stage.text()).toContain("The first 2 keys of 120 are shown.");
  const chosen = (): string[] => [...stage.root.querySelectorAll(".reach-chosen")].map((figure) => figure.textContent ?? "");
  expect(chosen()).toEqual(["900", "900", "750", "750"]);
  await stage.choose("By guarantee");
  expect(chosen()).toEqual(["1,110", "1,500", "840", "1,500"]);
});

test("it is asked again when something changes that it looks at, and waits for what is wrong", async () => {
  let asked = 0;
  reach = () => (asked++, reached(["ann", 900, 1110]));
  await open("team");
  expect(asked).toBe(1);
  await stage.type("Name", "Another");
  expect(asked).toBe(1);
  await stage.type("Weight", "20");
  expect(asked).toBe(2);
  reach = () => Response.json({ error: { message: "m", type: "t", code: "invalid", faults: [{ field: "reserve", problem: "is not within 0 to 400" }] } }, { status: 400 });
  await stage.choose("By guarantee");
  await stage.type("Reserve", "401");
  expect(stage.text()).toContain("It is worked out when what is typed could be saved.");
});
