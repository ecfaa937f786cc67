import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { open, startBrowser } from "./browser";
import { FarDecider } from "./far";
import { control, lastChange, read, refusals, sizes } from "./reading";
import { stage } from "./stage";
import { fill } from "./world";

const on = stage();

interface UsageAnswer {
  usage: { dimensions: { perKey: { apiKeyId: string; fairShare: number }[] }[] };
}

interface PoolAnswer {
  pool: { name: string; mode: string; rule: string; reserve: number; allocations: { apiKeyId: string; weight: number }[]; modelCaps: object[]; connections: object[] };
}

const sharesOf = async (id: string): Promise<string[]> => {
  const { usage } = await read<UsageAnswer>(on, `pools/${id}/usage`);
  return (usage.dimensions[0]?.perKey ?? []).filter((key) => key.fairShare !== null).map((key) => String(key.fairShare));
};

const poolOf = async (id: string): Promise<PoolAnswer["pool"]> => (await read<PoolAnswer>(on, `pools/${id}`)).pool;

const shown = async (page: Page): Promise<string[]> => (await page.locator(".share-list dd").allTextContents()).map((text) => text.replaceAll(",", ""));

describe("a new pool", () => {
  test("has the shares that were shown before it was saved", () =>
    on.visit("#/edit", { expected: refusals }, async (page) => {
      await control(page, "Name").fill("Evening shift");
      await control(page, "Provider").fill("kimi");
      await control(page, "Connection").fill("kimi-evening");
      await control(page, "Key").fill("nina-laptop");
      await page.getByText("1 key has no weight: type one, or split equally.").waitFor();
      await page.getByRole("button", { name: "Add a key" }).click();
      await control(page, "Key", 1).fill("ci-runner");
      await page.getByRole("button", { name: "Add everyone else" }).click();
      await page.getByRole("button", { name: "Split equally" }).click();
      await page.getByText("Weights sum to 100.").waitFor();
      await page.getByRole("button", { name: "Add a cap for a model" }).click();
      await control(page, "Key", 3).fill("ci-runner");
      await control(page, "Model").fill("kimi-k2");
      await control(page, "Never more than").fill("1,200");
      await page.getByText("Nobody would be blocked or freed right now.").waitFor();
      await on.picture(page, "edit-new");
      const before = await shown(page);
      await page.getByRole("button", { name: "Create the pool" }).click();
      await page.waitForURL(/#\/pools\/.+/);
      const id = decodeURIComponent(/#\/pools\/(.+)/.exec(page.url())?.[1] ?? "");
      const after = await sharesOf(id);
      const pool = await poolOf(id);
      await fetch(`${on.engine.url}/api/quota/pools/${id}`, { method: "DELETE" });
      expect(before).toEqual(after);
      expect(pool.allocations.map(({ weight }) => weight)).toEqual([33.34, 33.33, 33.33]);
      expect(pool.modelCaps).toEqual([{ apiKeyId: "ci-runner", model: "kimi-k2", capUnit: "requests", capValue: 1200 }]);
    }));

  test("cannot have a connection of another, and that stands beside it", () =>
    on.visit("#/edit", { expected: refusals }, async (page) => {
      await fill(on.engine);
      await control(page, "Name").fill("Second");
      await control(page, "Provider").fill("kimi");
      await control(page, "Connection").fill("kimi-night");
      await control(page, "Key").fill("nina-laptop");
      await control(page, "Weight").fill("33.3333333");
      await page.getByText("has too many decimals").waitFor();
      await control(page, "Weight").fill("100");
      await page.getByText('is "kimi-night", which is in pool "night" ("Night batch") already', { exact: false }).waitFor();
      await on.picture(page, "edit-taken");
    }));
});

describe("a pool that is changed", () => {
  test.each(sizes)("says who would be blocked, before it is saved: %s", (name, options) =>
    on.visit("#/edit/reports", { ...options, expected: refusals }, async (page) => {
      await page.getByText("Enforces", { exact: true }).click();
      await page.getByText("key would be blocked right now").waitFor();
      await page.getByText("quarterly-report-builder: at its cap on US dollars per day", { exact: false }).waitFor();
      await on.picture(page, `edit-${name}`);
      await control(page, "Weight").fill("400");
      await page.getByText("is not within 0 to 100").first().waitFor();
      await on.picture(page, `edit-${name}-wrong`);
    }));

  test("has other shares at once, which are those that were shown", () =>
    on.visit("#/edit/kimi-team", {}, async (page) => {
      await control(page, "Weight").fill("33.333333");
      await control(page, "Weight", 1).fill("26.666667");
      await page.getByText("Weights sum to 100.").waitFor();
      await page.getByText("would be", { exact: false }).first().waitFor();
      const before = await shown(page);
      await control(page, "Your name").fill("nina");
      await control(page, "Why").fill("the build needs more");
      await page.getByRole("button", { name: "Save the pool" }).click();
      await page.getByRole("heading", { level: 1, name: "Kimi for the team" }).waitFor();
      await on.picture(page, "edit-saved");
      expect(before).toEqual(await sharesOf("kimi-team"));
      expect(await lastChange(on)).toMatchObject({ kind: "pool", id: "kimi-team", actor: "nina", reason: "the build needs more" });
    }));

  test("has its rule, its reserve and the order of its accounts changed", () =>
    on.visit("#/edit/kimi-team", { expected: refusals }, async (page) => {
      await page.getByText("By guarantee", { exact: true }).click();
      await control(page, "Reserve").fill("401");
      await page.getByText("is not within 0 to 400").waitFor();
      await control(page, "Reserve").fill("50");
      await page.getByRole("button", { name: "Make it the first" }).click();
      await page.getByText("right now", { exact: false }).first().waitFor(); // who that is depends on how much of the hour is left
      const reached = page.getByRole("region", { name: "What each key could use of requests per hour" });
      await reached.getByRole("row", { name: "nina-laptop" }).getByText("3,000", { exact: true }).last().waitFor(); // alone, and by the end, all there is
      await on.picture(page, "edit-guarantee");
      await page.getByRole("button", { name: "Save the pool" }).click();
      await page.waitForURL(/#\/pools\/kimi-team/);
      await page.getByText("kept for keys", { exact: false }).first().waitFor();
      await on.picture(page, "pool-guarantee");
      expect(await poolOf("kimi-team")).toMatchObject({ rule: "guarantee", reserve: 50, connections: [{ connectionId: "kimi-lisbon" }, { connectionId: "kimi-berlin" }] });
    }));
});

describe("when two people change a pool", () => {
  const theirs = (change: object): Promise<unknown> => on.engine.send("PATCH", "/api/quota/pools/night", change, { "X-Quota-Actor": "tomasz", "X-Quota-Reason": "holidays" });

  test("who loses the race goes on with what both did", () =>
    on.visit("#/edit/night", { expected: refusals }, async (page) => {
      await control(page, "Name").fill("Night batch of mine");
      await control(page, "Weight").fill("60");
      const { allocations } = await poolOf("night");
      await theirs({ mode: "observe", allocations: allocations.map((a) => (a.weight === 30 ? { ...a, weight: 25 } : a)) });
      await page.getByRole("alert").getByText("They changed its mode and its shares. Why: holidays.").waitFor();
      await page.getByRole("button", { name: "Save the pool" }).click();
      await page.getByText("read it again and repeat the change", { exact: false }).waitFor();
      await on.picture(page, "edit-lost");
      await page.getByRole("button", { name: "Go on with both" }).click();
      await page.getByText("Weights sum to 85", { exact: false }).waitFor();
      expect(await control(page, "Name").inputValue()).toBe("Night batch of mine");
      await page.getByRole("button", { name: "Save the pool" }).click();
      await page.waitForURL(/#\/pools\/night/);
      expect(await poolOf("night")).toMatchObject({ name: "Night batch of mine", mode: "observe", allocations: [{ weight: 60 }, { weight: 25 }] });
    }));

  test("the form follows where nothing was typed", () =>
    on.visit("#/edit/night", {}, async (page) => {
      await control(page, "Name").waitFor();
      await theirs({ name: "Night batch of Tomasz" });
      await page.getByText("tomasz changed its name just now: the form has it").waitFor();
      expect(await control(page, "Name").inputValue()).toBe("Night batch of Tomasz");
    }));

  test("a pool that was deleted is made anew of what was typed", () =>
    on.visit("#/edit/night", { expected: refusals }, async (page) => {
      await control(page, "Name").fill("Night batch, once more");
      await on.engine.send("DELETE", "/api/quota/pools/night", undefined, { "X-Quota-Actor": "tomasz" }).catch(() => undefined); // its answer has no document
      await page.getByText("tomasz deleted this pool meanwhile").waitFor();
      await on.picture(page, "edit-gone");
      await page.getByRole("button", { name: "Make a new one of it" }).click();
      await page.getByRole("button", { name: "Create the pool" }).click();
      await page.waitForURL(/#\/pools\/night/);
      expect(await poolOf("night")).toMatchObject({ name: "Night batch, once more", allocations: [{ weight: 60 }, { weight: 25 }] });
    }));
});

describe("deleting", () => {
  test("asks, says what it would do, and keeps who and why", () =>
    on.visit("#/edit/trial", {}, async (page) => {
      await page.getByRole("button", { name: "Delete…" }).click();
      await page.getByText("Nobody would be blocked or freed right now.").waitFor();
      await on.picture(page, "edit-delete");
      await page.getByRole("button", { name: "Keep it" }).click();
      expect((await poolOf("trial")).name).toBe("GLM trial");
      await page.getByRole("button", { name: "Delete…" }).click();
      await control(page, "Your name", 1).fill("nina");
      await control(page, "Why", 1).fill("the trial is over");
      await page.getByRole("button", { name: "Delete the pool" }).click();
      await page.getByRole("heading", { level: 1, name: "Pools" }).waitFor();
      await page.getByRole("link", { name: "GLM trial" }).waitFor({ state: "detached" });
      expect(await lastChange(on)).toMatchObject({ kind: "pool", id: "trial", change: "delete", actor: "nina", reason: "the trial is over" });
    }));

  test("is shown to have failed while the log is away, and succeeds when it is back", async () => {
    const [far, browser] = await Promise.all([FarDecider.start(), startBrowser()]);
    try {
      await fetch(`${far.url}/api/quota/pools`, { method: "POST", body: JSON.stringify({ id: "team", name: "Our team", provider: "kimi", connectionIds: ["kimi-1"] }) });
      const { page, faults } = await open(browser, `${far.url}/#/edit/team`, { expected: refusals });
      await page.getByRole("button", { name: "Delete…" }).click();
      await page.getByText("Nobody would be blocked or freed right now.").waitFor();
      far.logAway();
      await page.getByRole("button", { name: "Delete the pool" }).click();
      await page.getByText("Not deleted").waitFor();
      await page.getByText("the log cannot be read at the moment", { exact: false }).first().waitFor();
      await on.picture(page, "edit-delete-failed");
      far.logBack();
      await page.getByRole("button", { name: /Try again|Delete it all the same/ }).click();
      await page.getByRole("heading", { level: 1, name: "Pools" }).waitFor();
      expect(((await (await fetch(`${far.url}/api/quota/pools`)).json()) as { total: number }).total).toBe(0);
      expect(faults).toEqual([]);
    } finally {
      await browser.close();
      await far.stop();
    }
  });
});
