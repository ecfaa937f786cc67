import { beforeAll, describe, expect, test } from "vitest";
import { keyboardFaults, live, seriousFindings, widerThanWindow } from "./browser";
import { shots } from "./pages";
import { stage } from "./stage";
import { tell } from "./story";

const on = stage();

describe("every page, with all that it shows", () => {
  beforeAll(() => tell(on.engine));

  test.each(Object.entries(shots))("%s is for everybody: light, dark, narrow, and without a mouse", (_, { address, ready }) =>
    on.visit(address, { width: 1280 }, async (page) => {
      await live(page);
      await ready(page);
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 900 });
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          expect(await seriousFindings(page), `${colorScheme}, ${width} wide`).toEqual([]);
        }
        expect(await widerThanWindow(page), `${width} wide`).toBe(false);
        expect(await keyboardFaults(page), `${width} wide`).toEqual([]);
      }
    }));
});
