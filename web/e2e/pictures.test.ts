import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { live } from "./browser";
import { Engine } from "./engine";
import { type Shot, shots } from "./pages";
import { small } from "./png";
import { stage } from "./stage";
import { tell } from "./story";

const on = stage();

/** `npm run pictures` names the folder of the README; every other run shows that they can be made. */
const folder = process.env["DOCS_IMAGES"] ?? join(tmpdir(), "quotashare-images");
const most = 60 * 1024; // bytes

/** Takes the picture that the README has for the light, and that for the dark. */
async function take(page: Page, name: string, from?: Shot["from"]): Promise<void> {
  await page.evaluate(() => scrollTo(0, 0)); // where a field was filled, the page has moved
  await from?.(page).evaluate((node) => scrollBy(0, node.getBoundingClientRect().top - 60));
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const file = join(folder, `${name}-${colorScheme}.png`);
    writeFileSync(file, small(await page.screenshot()));
    expect(statSync(file).size).toBeLessThanOrEqual(most);
  }
}

describe("pictures of every page", () => {
  beforeAll(async () => {
    mkdirSync(folder, { recursive: true });
    await tell(on.engine);
  });

  test("stand in the README, each light and dark", () => {
    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
    const there = [...readme.matchAll(/docs\/images\/([a-z]+-(?:light|dark))\.png/g)].map((found) => found[1]);
    expect(there.sort()).toEqual([...Object.keys(shots), "login"].flatMap((name) => [`${name}-dark`, `${name}-light`]).sort());
  });

  test.each(Object.entries(shots))("%s", (name, { address, from, ready }) =>
    on.visit(address, { width: 1280 }, async (page) => {
      await live(page);
      await ready(page);
      await take(page, name, from);
    }));
});

describe("a picture of an engine that asks who is there", () => {
  const token = "a token of this test alone";
  const asks = stage(() => Engine.start({ flags: ["--api-token", token], token }));

  test("login", () =>
    asks.visit("", { width: 1280, expected: /status of 401/ }, async (page) => {
      await page.getByRole("heading", { level: 1, name: "Log in" }).waitFor();
      await take(page, "login");
    }));
});
