import { beforeAll, describe, expect, test } from "vitest";
import { control, lastChange, read, refusals, sizes } from "./reading";
import { stage } from "./stage";
import { fill } from "./world";

const on = stage();

beforeAll(() => fill(on.engine));

interface PlanAnswer {
  plan: { source: string; dimensions: { unit: string; window: string; limit: number }[]; actor?: string };
}

const planOf = async (connection: string): Promise<PlanAnswer["plan"]> => (await read<PlanAnswer>(on, `plans/${connection}`)).plan;

describe("plans", () => {
  test.each(sizes)("can be read and tried: %s", (name, options) =>
    on.visit("#/plans", { ...options, expected: refusals }, async (page) => {
      await page.getByRole("link", { name: "openai-reports" }).waitFor();
      await on.picture(page, `plans-${name}`);
      await page.goto(`${page.url().split("#")[0]}#/plans/openai-reports`);
      await page.getByText("It was set by hand, and goes before the catalogue.").waitFor();
      await control(page, "At most").fill("12.5");
      await page.getByText("Nobody would be blocked or freed right now.").waitFor();
      await on.picture(page, `plan-${name}`);
      await control(page, "At most").fill("a lot");
      await page.getByText("is not a number", { exact: true }).waitFor();
      await on.picture(page, `plan-wrong-${name}`);
    }));

  test("a connection or a provider is found", () =>
    on.visit("#/plans", {}, async (page) => {
      await control(page, "Connection or provider").fill("codex");
      await page.getByRole("link", { name: "openai-reports" }).waitFor({ state: "detached" });
      expect(await page.locator("tbody th").allTextContents()).toEqual(["codex-pro", "codex"]);
      await control(page, "Connection or provider").fill("kimi-new");
      await page.getByRole("button", { name: "Set a plan for the connection kimi-new" }).click();
      await page.getByText("nobody said whose connection it is", { exact: false }).waitFor();
    }));

  test("a plan says whom it would free, is set as it was typed, and taken back", () =>
    on.visit("#/plans/kimi-night", {}, async (page) => {
      await page.getByText("what kimi is known to sell", { exact: false }).waitFor();
      await control(page, "At most").fill("9,000.5");
      await page.getByText("2 keys and everyone else would be free again right now").waitFor();
      await page.getByText("translation-batch in Night batch: was limit used up on requests per hour", { exact: false }).waitFor();
      await on.picture(page, "plan-frees");
      await control(page, "Your name").fill("nina");
      await control(page, "Why").fill("the new contract");
      await page.getByRole("button", { name: "Save the plan" }).click();
      await page.getByText("by nina: the new contract", { exact: false }).waitFor();
      expect(await planOf("kimi-night")).toMatchObject({ source: "manual", dimensions: [{ unit: "requests", window: "hourly", limit: 9000.5 }] });
      await page.getByRole("button", { name: "Revert…" }).click();
      await page.getByText("2 keys and everyone else would be blocked right now").waitFor();
      await on.picture(page, "plan-revert");
      await control(page, "Why", 1).fill("the contract is void");
      await page.getByRole("button", { name: "Revert the plan" }).click();
      await page.getByText("what kimi is known to sell", { exact: false }).waitFor();
      expect((await planOf("kimi-night")).source).toBe("catalogue");
      expect(await lastChange(on)).toMatchObject({ kind: "plan", id: "kimi-night", change: "delete", actor: "nina", reason: "the contract is void" });
    }));

  test("what somebody else sets is shown at once, and while one types both can hold", () =>
    on.visit("#/plans/glm-trial", { expected: refusals }, async (page) => {
      const put = (limit: number): Promise<unknown> =>
        on.engine.send("PUT", "/api/quota/plans/glm-trial", { dimensions: [{ unit: "requests", window: "daily", limit }] }, { "X-Quota-Actor": "tomasz", "X-Quota-Reason": "trial" });
      await page.getByRole("heading", { name: "Where it comes from" }).waitFor();
      await put(500);
      await page.getByText("by tomasz: trial", { exact: false }).waitFor();
      expect(await control(page, "At most").inputValue()).toBe("500");
      await page.getByRole("button", { name: "Add a limit" }).click();
      await control(page, "At most", 1).fill("70");
      await put(400);
      await page.getByRole("alert").getByText("tomasz changed this plan meanwhile").waitFor();
      await page.getByRole("button", { name: "Save the plan" }).click();
      await page.getByText("read it again and repeat the change", { exact: false }).waitFor();
      await on.picture(page, "plan-lost");
      await page.getByRole("button", { name: "Go on with both" }).click();
      await page.getByRole("button", { name: "Save the plan" }).click();
      await page.getByText("Nothing is changed yet.").waitFor();
      expect((await planOf("glm-trial")).dimensions.map(({ limit }) => limit)).toEqual([400, 70]);
    }));
});
