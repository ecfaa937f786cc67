import { beforeAll, expect, test } from "vitest";
import { stage } from "./stage";
import { fill } from "./world";

const on = stage();

/** So many that reading them takes seconds. */
const messages = 600;

beforeAll(async () => {
  await fill(on.engine);
  const many = Array.from({ length: 1000 }, (_, i) => ({ apiKeyId: i % 2 ? "nina-laptop" : "search-service", connectionId: "kimi-berlin", cost: { tokens: 1 } }));
  for (let n = 0; n < messages; n++) await on.engine.post("/api/quota/events", many);
  await on.engine.settled();
}, 120_000);

test("a long trial says how far it is, can be stopped, and lets the next one come", () =>
  on.visit("#/whatif?pool=kimi-team", { expected: /429/ }, async (page) => {
    await page.getByRole("button", { name: "Try it" }).click();
    await page.getByText("The log is being read twice", { exact: true }).last().waitFor();
    await page.getByText(/It takes 80\ss at most\.\s\d+\ss so far/).waitFor();
    expect(Number(await page.locator("progress").getAttribute("value"))).toBeGreaterThan(1);
    await on.picture(page, "whatif-reading");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("The answer was not waited for.").waitFor();
    await page.goto(`${on.engine.url}/#/why?key=ci-runner&connection=kimi-berlin`);
    await page.getByRole("heading", { name: "ci-runner would be blocked on kimi-berlin" }).waitFor();
    await page.getByText("704 used, share 600 requests").waitFor();
  }));

test("who comes while somebody else's is made waits for the turn", () =>
  on.visit("#/whatif?pool=kimi-team", {}, async (first) => {
    await first.getByRole("button", { name: "Try it" }).click();
    await first.getByText("It takes 80 s at most.", { exact: false }).waitFor();
    await on.visit("#/why?key=ci-runner&connection=kimi-berlin", { expected: /429/, dark: true, width: 360 }, async (page) => {
      await page.getByText("Waiting for its turn").waitFor();
      await on.picture(page, "why-waiting-narrow-dark");
      await page.getByRole("heading", { name: "ci-runner would be blocked on kimi-berlin" }).waitFor();
    });
    await first.getByRole("heading", { name: "No request would have been answered otherwise." }).waitFor();
  }));
