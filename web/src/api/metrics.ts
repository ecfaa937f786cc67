/** The one figure that the engine tells to Prometheus alone. */
import { type Fetch } from "./call";

const row = /^quotashare_degraded_total\{[^}]*decision="allow"[^}]*\} (\d+)/gm;

/** How many answers let a request pass though the engine was not sure, since it was started; null where that is not told. */
export function failOpensIn(text: string): number | null {
  if (!text.includes("quotashare_")) return null; // something else answered
  return [...text.matchAll(row)].reduce((n, [, figure]) => n + Number(figure), 0);
}

/** As failOpensIn, of the engine. It is no fault not to be told: then nothing is said about it. */
export async function failOpens(fetch: Fetch): Promise<number | null> {
  try {
    const response = await fetch("/metrics", { cache: "no-store", redirect: "error" });
    return response.ok ? failOpensIn(await response.text()) : null;
  } catch {
    return null;
  }
}
