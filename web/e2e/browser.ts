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

/** Waits until the page hears of changes as they come. */
export function live(page: Page): Promise<void> {
  return page.getByText("Live", { exact: true }).first().waitFor();
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

/**
 * Observes what moves on the page without anybody having touched it, from now
 * on. Bars are there to move; and a figure that ends where it did has not moved
 * when it gets another digit.
 */
export function watchJumps(page: Page): Promise<void> {
  return page.evaluate(() => {
    const jumps: string[] = [];
    Object.assign(window, { jumps });
    new PerformanceObserver((list) => {
      for (const { hadRecentInput, sources } of list.getEntries() as unknown as LayoutShift[]) {
        for (const { node, previousRect: from, currentRect: to } of hadRecentInput ? [] : sources) {
          const around = node instanceof Element ? node : node?.parentElement;
          if (around?.closest(".bar") || (from.top === to.top && from.right === to.right)) continue;
          jumps.push(`${around?.outerHTML.slice(0, 160)}: ${from.x},${from.y} ${from.width}×${from.height} → ${to.x},${to.y} ${to.width}×${to.height}`);
        }
      }
    }).observe({ type: "layout-shift" });
  });
}

/** What the browser's Layout Instability API tells of. */
interface LayoutShift {
  readonly hadRecentInput: boolean;
  readonly sources: readonly { node: Node | null; previousRect: DOMRectReadOnly; currentRect: DOMRectReadOnly }[];
}

/** What has moved since. */
export function jumps(page: Page): Promise<string[]> {
  return page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve((window as unknown as { jumps: string[] }).jumps)))),
  );
}

/** What Tab alone does not lead to, and what does not show that one is there. */
export async function keyboardFaults(page: Page): Promise<string[]> {
  await page.evaluate(() => {
    // Tab goes on from where the focus was last, so that is at the beginning first.
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute("tabindex");
    Object.assign(window, { reached: new Set<Element>(), last: null });
  });
  const faults: string[] = [];
  for (let presses = 0; presses < 500; presses++) {
    await page.keyboard.press("Tab");
    const fault = await page.evaluate(arrived);
    if (fault === "end") break;
    if (fault) faults.push(fault);
  }
  return [...faults, ...(await page.evaluate(missed))];
}

/** Notes where the focus is, and returns what is wrong there or where it was; "end" when it has been here. */
function arrived(): string {
  const walk = window as unknown as { reached: Set<Element>; last: Element | null; seen: string };
  const here = document.activeElement;
  if (here !== null && here === walk.last) return ""; // a field of several parts, such as that of a time
  const look = (node: Element): string => {
    const label = node.closest("label"); // it shows the focus of a field that is hidden
    return [node, ...(label ? [label, ...label.querySelectorAll("*")] : [])]
      .map((part) => getComputedStyle(part))
      .map(({ outlineStyle, outlineWidth, boxShadow }) => [outlineStyle === "none" ? "" : outlineWidth, boxShadow].join(" "))
      .join();
  };
  // Where the focus was, and looks the same without it, nobody saw it.
  const fault = walk.last?.isConnected && look(walk.last) === walk.seen ? `no ring: ${walk.last.outerHTML.slice(0, 200)}` : "";
  if (!here || here === document.body || walk.reached.has(here)) return fault || "end";
  walk.reached.add(here);
  walk.last = here;
  walk.seen = look(here);
  const { width, height, top, bottom } = here.getBoundingClientRect();
  const away = width > 0 && height > 0 && (bottom <= 0 || top >= innerHeight);
  return fault || (away ? `out of sight: ${here.outerHTML.slice(0, 200)}` : "");
}

/** What can be clicked, is to be seen, and was not reached. Of radio buttons the arrows reach the others. */
function missed(): string[] {
  const { reached } = window as unknown as { reached: Set<Element> };
  const all = document.querySelectorAll("a[href], button:enabled, input:enabled:not([type=radio]), select:enabled, textarea:enabled, summary, [tabindex='0']");
  return [...all].filter((node) => node.checkVisibility() && !reached.has(node)).map((node) => `not reached: ${node.outerHTML.slice(0, 200)}`);
}
