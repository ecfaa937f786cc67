import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { live } from "./browser";
import { shots } from "./pages";
import { small } from "./png";
import { stage } from "./stage";
import { tell } from "./story";

const on = stage();

/** `npm run pictures` names the folder of the README; every other run shows that they can be made. */
const folder = process.env["DOCS_IMAGES"] ?? join(tmpdir(), "quotashare-images");
const most = 60 * 1024; // bytes

describe("pictures of every page", () => {
  beforeAll(async () => {
    mkdirSync(folder, { recursive: true });
    await tell(on.engine);
  });

  test.each(Object.entries(shots))("%s", (name, { address, from, ready }) =>
    on.visit(address, { width: 1280 }, async (page) => {
      await live(page);
      await ready(page);
      await page.evaluate(() => scrollTo(0, 0)); // where a field was filled, the page has moved
      await from?.(page).evaluate((node) => scrollBy(0, node.getBoundingClientRect().top - 60));
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const file = join(folder, `${name}-${colorScheme}.png`);
        writeFileSync(file, small(await page.screenshot()));
        expect(statSync(file).size).toBeLessThanOrEqual(most);
      }
    }));
});
