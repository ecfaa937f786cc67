/** What tests of the pages that write ask the engine and the page. */
import type { Locator, Page } from "playwright-core";
import type { Stage } from "./stage";

/** What the engine answers under a path of the API. */
export async function read<Answer>(on: Stage, path: string): Promise<Answer> {
  const response = await fetch(`${on.engine.url}/api/quota/${path}`);
  return (await response.json()) as Answer;
}

interface Change {
  kind: string;
  id?: string;
  change: string;
  actor?: string;
  reason?: string;
}

/** What was changed last, of all there was. */
export async function lastChange(on: Stage): Promise<Change | undefined> {
  return (await read<{ changes: Change[] }>(on, "changes?limit=1000")).changes.at(-1);
}

/** Deletes every pool. */
export async function clear(on: Stage): Promise<void> {
  for (const { id } of (await read<{ pools: { id: string }[] }>(on, "pools?limit=1000")).pools) {
    await fetch(`${on.engine.url}/api/quota/pools/${encodeURIComponent(id)}`, { method: "DELETE" });
  }
}

/** The control that a label names; of several the one at that place. */
export function control(page: Page, label: string, place = 0): Locator {
  return page.getByLabel(label, { exact: true }).nth(place);
}

/** What browsers say of answers of 400 and above, which these tests cause. */
export const refusals = /Failed to load resource/;

export const sizes = [
  ["light", {}],
  ["dark", { dark: true }],
  ["narrow", { width: 360 }],
] as const;
