import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import type { History, KeyUse, Unit, Usage, UsedDimension } from "../src/api/types";
import { live } from "./browser";
import { stage } from "./stage";

/** Figures on the pages are those of the API, to the last digit shown. The words are made anew here, from the text of the answer. */
const on = stage();

const pool = {
  id: "ledger", name: "Ledger", provider: "openai", connectionIds: ["ledger-1", "ledger-2"],
  allocations: [
    { apiKeyId: "ann", weight: 33.333333, policy: "soft", caps: [{ unit: "usd", window: "daily", value: 0.125 }] },
    { apiKeyId: "bob", weight: 50, policy: "hard" },
    { apiKeyId: "*", weight: 0, policy: "burst" },
  ],
};

const plan = {
  dimensions: [
    { unit: "usd", window: "daily", limit: "1234.567891" },
    { unit: "requests", window: "monthly", limit: 1001 },
    { unit: "tokens", window: "monthly" },
  ],
};

const events = [
  { apiKeyId: "ann", connectionId: "ledger-1", cost: { usd: "1234.999999999", requests: 1999, tokens: 999_999_999_999 } },
  { apiKeyId: "ann", connectionId: "ledger-2", cost: { tokens: 999_999_999_999 } },
  { apiKeyId: "bob", connectionId: "ledger-2", cost: { usd: "0.004999", requests: "0.001", tokens: 1 } },
  { apiKeyId: "eve", connectionId: "ledger-2", cost: { usd: "19.99", requests: 1, tokens: 999_999 } },
];

const places: Record<Unit, number> = { usd: 2, requests: 1, tokens: 0, percent: 1 };

/** The figure of an amount: cut off and never rounded. */
function figure(amount: number | string, unit: Unit): string {
  const [sign = "", whole = "", fraction = ""] = /^(-?)(\d+)\.?(\d*)$/.exec(String(amount))?.slice(1) ?? [];
  const shown = fraction.slice(0, places[unit]).replace(/0+$/, "");
  if (whole === "0" && shown === "") return Number(amount) === 0 ? (unit === "usd" ? "$0" : "0") : unit === "usd" ? "under $0.01" : "under 0.1";
  const digits = BigInt(whole).toLocaleString("en");
  const number = unit === "usd" ? `$${digits}.${shown.padEnd(2, "0")}` : digits + (shown && `.${shown}`);
  return sign && `−${number}` || number;
}

/** As figure, but a million and more in three digits: what is left of the others. */
function short(amount: number | string, unit: Unit): string {
  const [whole = ""] = String(amount).split(".");
  const letter = whole.length > 12 ? "T" : whole.length > 9 ? "B" : whole.length > 6 ? "M" : "";
  if (!letter) return figure(amount, unit);
  const zeros = { T: 12, B: 9, M: 6 }[letter];
  const before = whole.slice(0, -zeros);
  const after = whole.slice(-zeros).slice(0, Math.max(0, 3 - before.length)).replace(/0+$/, "");
  return `${before}${after && `.${after}`} ${letter}`;
}

const percentage = (of: number | string): string => `${figure(of, "percent")} %`;

/** What part is of whole in percent, by whole numbers: one decimal, cut off. */
function portion(part: number | string, whole: number | string): string {
  const units = (amount: number | string): bigint => {
    const [before = "0", after = ""] = String(amount).split(".");
    return BigInt(before + after.padEnd(9, "0"));
  };
  const tenths = (units(part) * 1000n) / units(whole);
  if (tenths === 0n && units(part) > 0n) return "under 0.1 %";
  return percentage(`${tenths / 10n}.${tenths % 10n}`);
}

async function usage(): Promise<Usage> {
  const answer = await fetch(`${on.engine.url}/api/quota/pools/ledger/usage`);
  return ((await answer.json()) as { usage: Usage }).usage;
}

/** The text of each, with the spaces of one's own keyboard. */
const texts = async (of: Locator): Promise<string[]> => (await of.allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim());

const title = ({ unit, window }: UsedDimension): string => `${{ usd: "US dollars", requests: "Requests", tokens: "Tokens", percent: "" }[unit]} per ${window === "daily" ? "day" : "30 days"}`;

describe("figures equal the API's", () => {
  beforeAll(async () => {
    await on.engine.send("PUT", "/api/quota/plans/ledger-1", plan);
    await on.engine.send("PUT", "/api/quota/plans/ledger-2", plan);
    await on.engine.post("/api/quota/pools", pool);
    const sent = (await on.engine.post("/api/quota/events", events)) as { accepted: number; results: { seq: number }[] };
    expect(sent.accepted).toBe(events.length);
    await fetch(`${on.engine.url}/api/quota/state?minSeq=${sent.results.at(-1)?.seq ?? 0}`);
  });

  const open = async (page: Page, d: UsedDimension): Promise<void> => {
    await page.getByRole("radio", { name: title(d) }).check({ force: true });
    await page.getByRole("region", { name: new RegExp(`^Allocations, ${title(d)}$`, "i") }).waitFor();
  };

  const share = (key: KeyUse, d: UsedDimension): string => {
    if (key.fairShare === null) return d.limit === null ? "limit not known" : "with everyone else";
    const part = Number(key.fairShare) === 0 ? "a share of nothing" : `${portion(key.consumed, key.fairShare)} of it used`;
    return `${figure(key.fairShare, d.unit)} ${part}`;
  };

  const left = (key: KeyUse, d: UsedDimension): string => {
    if (key.deficit === null) return d.limit === null ? "not known" : "–";
    return String(key.deficit).startsWith("-") ? `${figure(String(key.deficit).slice(1), d.unit)} left` : `borrows ${figure(key.deficit, d.unit)}`;
  };

  test("in the table of a pool, and in its bar", () =>
    on.visit("#/pools/ledger", { width: 1600 }, async (page) => {
      await live(page);
      await page.getByRole("heading", { level: 1, name: "Ledger" }).waitFor();
      const said = await usage();
      expect(said.dimensions.map((d) => [d.unit, d.limit === null])).toEqual([["usd", false], ["requests", false], ["tokens", true]]);
      for (const d of said.dimensions) {
        await open(page, d);
        const rows = page.getByRole("region", { name: "Allocations", exact: true }).locator("tbody tr");
        const shown = await Promise.all((await rows.all()).map((row) => texts(row.locator("td"))));
        expect(shown.map((cells) => cells.slice(0, 3))).toEqual(d.perKey.map((key) => [figure(key.consumed, d.unit), share(key, d), left(key, d)]));
        const head = page.locator(".pool-bar .dimension");
        expect(await texts(head.locator(".dimension-head p"))).toEqual([`${short(d.consumedTotal, d.unit)} ${d.limit === null ? "used" : `of ${short(d.limit, d.unit)}`}`]);
        expect((await texts(head.locator(".dimension-foot > span")))[0]).toBe(d.usedPercent === null ? "limit not known" : `${percentage(d.usedPercent)} of the limit`);
      }
    }));

  test("beside its history", () =>
    on.visit("#/pools/ledger", {}, async (page) => {
      const quarter = 15 * 60_000;
      const answer = await fetch(`${on.engine.url}/api/quota/pools/ledger/history?from=${Date.now() - 86_400_000}&step=${quarter}`);
      const { history } = (await answer.json()) as { history: History };
      const nanos = (amount: number | string): bigint => {
        const [whole = "0", fraction = ""] = String(amount).split(".");
        return BigInt(whole + fraction.padEnd(9, "0"));
      };
      const text = (amounts: (number | string)[]): string => {
        const all = amounts.reduce<bigint>((sum, amount) => sum + nanos(amount), 0n);
        return figure(`${all / 1_000_000_000n}.${String(all % 1_000_000_000n).padStart(9, "0")}`, "usd");
      };
      const of = (id: string): string => text(history.rows.flatMap((row) => row.perKey.filter((key) => key.apiKeyId === id).map((key) => key.usd)));
      await open(page, { unit: "usd", window: "daily" } as UsedDimension);
      const readings = page.getByRole("region", { name: "History", exact: true }).locator(".chart-readings");
      await readings.getByText("All together").waitFor();
      expect(await texts(readings.locator(".chart-figure"))).toEqual([text(history.rows.map((row) => row.total.usd)), of("ann"), of("bob"), text(history.rows.map((row) => row.unlisted.usd))]);
    }));

  test("on its card, with every digit one hover away", () =>
    on.visit("", {}, async (page) => {
      const card = page.getByRole("article").filter({ hasText: "Ledger" });
      await card.getByText("eve").or(card.getByText("everyone else")).first().waitFor();
      const said = await usage();
      const shown = await texts(card.locator(".dimension-head p"));
      expect(shown).toEqual(said.dimensions.map((d) => `${short(d.consumedTotal, d.unit)} ${d.limit === null ? "used" : `of ${short(d.limit, d.unit)}`}`));
      const [, requests] = said.dimensions;
      const titles = await card.locator(".dimension-head p > span[title]").evaluateAll((all) => all.map((span) => span.getAttribute("title")?.replace(/\u00a0/g, " ")));
      expect(titles[0]).toBe(`$${Number(String(said.dimensions[0]?.consumedTotal).split(".")[0]).toLocaleString("en")}.${String(said.dimensions[0]?.consumedTotal).split(".")[1] ?? "00"}`);
      expect(titles[1]).toBe(`${Number(requests?.consumedTotal).toLocaleString("en", { maximumFractionDigits: 9 })} requests`);
    }));

  test("above a hundred percent, and where no limit is known, as what they are", () =>
    on.visit("", {}, async (page) => {
      await live(page);
      await page.getByRole("article").filter({ hasText: "Ledger" }).getByText("everyone else").first().waitFor();
      const text = (await page.locator("main").innerText()).replace(/\s+/g, " ");
      const tightest = (await usage()).dimensions[1];
      const ann = tightest?.perKey[0];
      expect(text).toContain(`${portion(ann?.consumed ?? 0, ann?.fairShare ?? 1)} of its share`);
      expect(Number(ann?.consumed)).toBeGreaterThan(Number(ann?.fairShare));
      expect(text.match(/limit not known/g)).toHaveLength(1);
      expect(text).toContain("1 of 0 a share of nothing");
      expect(text).not.toMatch(/NaN|undefined|null|Infinity/);
      await on.picture(page, "figures");
    }));
});
