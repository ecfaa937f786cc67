/** An engine and a browser, for the tests of one file. */
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { open, type Options, seriousFindings, startBrowser, widerThanWindow } from "./browser";
import { Engine } from "./engine";

/** Where pictures go that somebody wants to look at. */
const pictures = process.env["PICTURES"] ?? join(tmpdir(), "quotashare-pictures");

export interface Stage {
  readonly engine: Engine;
  /** Opens the address behind "#", runs the steps, and checks that the page met no fault meanwhile. */
  visit(address: string, options: Options, steps: (page: Page) => Promise<void>): Promise<void>;
  /** Takes a picture, and checks what every page must hold: all can read it, and it fits. */
  picture(page: Page, name: string): Promise<void>;
}

/** Sets the stage before the tests of the file that calls it, and clears it behind them. start makes its engine. */
export function stage(start: () => Promise<Engine> = () => Engine.start()): Stage {
  let engine: Engine | undefined;
  let browser: Browser | undefined;
  beforeAll(async () => {
    mkdirSync(pictures, { recursive: true });
    [engine, browser] = await Promise.all([start(), startBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await engine?.stop();
  });
  return {
    get engine() {
      if (!engine) throw new Error("the stage is not set yet");
      return engine;
    },
    async visit(address, options, steps) {
      if (!browser || !engine) throw new Error("the stage is not set yet");
      const { page, faults } = await open(browser, `${engine.url}/${address}`, options);
      await steps(page);
      expect(faults).toEqual([]);
      await page.context().close();
    },
    async picture(page, name) {
      await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
      expect(await seriousFindings(page)).toEqual([]);
      expect(await widerThanWindow(page)).toBe(false);
    },
  };
}
