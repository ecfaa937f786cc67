/** An engine, the pages in front of it, and a browser, for the tests of one file. */
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { open, type Options, seriousFindings, startBrowser, widerThanWindow } from "./browser";
import { Engine } from "./engine";
import { type Front, startFront } from "./front";

/** Where pictures go that somebody wants to look at. */
const pictures = process.env["PICTURES"] ?? join(tmpdir(), "quotashare-pictures");

export interface Stage {
  readonly engine: Engine;
  /** Opens the address behind "#", runs the steps, and checks that the page met no fault meanwhile. */
  visit(address: string, options: Options, steps: (page: Page) => Promise<void>): Promise<void>;
  /** Takes a picture, and checks what every page must hold: all can read it, and it fits. */
  picture(page: Page, name: string): Promise<void>;
}

/** Sets the stage before the tests of the file that calls it, and clears it behind them. */
export function stage(): Stage {
  let engine: Engine | undefined;
  let front: Front | undefined;
  let browser: Browser | undefined;
  beforeAll(async () => {
    mkdirSync(pictures, { recursive: true });
    engine = await Engine.start();
    [front, browser] = await Promise.all([startFront(engine.url), startBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await front?.stop();
    await engine?.stop();
  });
  return {
    get engine() {
      if (!engine) throw new Error("the stage is not set yet");
      return engine;
    },
    async visit(address, options, steps) {
      if (!browser || !front) throw new Error("the stage is not set yet");
      const { page, faults } = await open(browser, `${front.url}${address}`, options);
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
