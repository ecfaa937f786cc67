/** A real browser, and what it must never do. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, chromium, type Page } from "playwright-core";

/** Debian's chromium, unless another is named. */
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/** Without its sandbox, which root has none of, and nothing but the engine's pages comes into it. */
export function startBrowser(): Promise<Browser> {
  if (!existsSync(executablePath)) {
    throw new Error(`there is no ${executablePath}: apt-get install -y --no-install-recommends chromium, or name another browser in CHROMIUM`);
  }
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

export interface Watched {
  readonly page: Page;
  /** Faults that the console told, and requests to others than the server of the page. */
  readonly faults: string[];
}

export interface Options {
  dark?: boolean;
  width?: number;
  /** Faults of the console that the test causes itself. */
  expected?: RegExp;
}

/** A page whose faults are written down. */
export async function open(browser: Browser, url: string, options: Options): Promise<Watched> {
  const context = await browser.newContext({
    colorScheme: options.dark ? "dark" : "light",
    viewport: { width: options.width ?? 1440, height: 960 },
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("console", (message) => {
    const text = message.text();
    if (/error|warning/.test(message.type()) && !options.expected?.test(text)) faults.push(`${message.type()}: ${text}`);
  });
  page.on("pageerror", (error) => faults.push(`thrown: ${error.message}`));
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) faults.push(`asked ${request.url()}`);
  });
  await page.goto(url);
  return { page, faults };
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeResults {
  violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** What an accessibility check finds that is serious or worse. */
export async function seriousFindings(page: Page): Promise<string[]> {
  const results = (await page.evaluate(`(() => { const module = { exports: {} }; ${axe}; return module.exports.run(document); })()`)) as AxeResults;
  return results.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
}

/** Whether something is wider than the window, so that one would have to scroll sideways. */
export function widerThanWindow(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
}
