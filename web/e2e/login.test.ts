/** An engine that other machines reach, and that asks for tokens with roles. */
import { mkdtempSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { live } from "./browser";
import { command, Engine } from "./engine";
import { stage } from "./stage";
import { fill } from "./world";

const file = join(mkdtempSync(join(tmpdir(), "quotashare-tokens-")), "tokens.json");

/** An address that other machines reach, where this one has such; else one that is no default. */
const host = Object.values(networkInterfaces()).flat().find((at) => at?.family === "IPv4" && !at.internal)?.address ?? "127.0.0.2";

const add = (name: string, role: string, ...more: string[]): Promise<string> =>
  command("tokens", "add", "--tokens-file", file, "--name", name, "--role", role, ...more);

let admin = "";

const on = stage(async () => {
  admin = await add("Ines (operations)", "admin");
  return Engine.start({ host, flags: ["--tokens-file", file, "--http-hosts", host], token: admin });
});

/** Without TLS a browser cannot keep windows of others away from this one, and says so. */
const plain = /^The Cross-Origin-Opener-Policy header has been ignored/;

/** The console tells of each answer that refuses, too; those are what is tested. */
const refusals = /status of (401|403)|^The Cross-Origin-Opener-Policy header has been ignored/;

let viewer = "";
let own = "";
let publisher = "";

beforeAll(async () => {
  await fill(on.engine);
  [viewer, own, publisher] = [
    await add("office screen", "read"),
    await add("amelie", "self", "--keys", "amelie,amelie-at-home"),
    await add("gateway", "ingest"),
  ];
});

const login = async (page: Page, token: string): Promise<void> => {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
};

const heading = (page: Page, name: string): Promise<void> => page.getByRole("heading", { level: 1, name }).waitFor();

describe("logging in", () => {
  test("asks for a token, says what is wrong with one, and opens the page that was asked for", () =>
    on.visit("#/plans", { expected: refusals }, async (page) => {
      await heading(page, "Log in");
      expect(await page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("token");
      expect(await page.getByLabel("Token").getAttribute("type")).toBe("password");
      await on.picture(page, "login");
      await login(page, "qt-guess");
      await page.getByText("token is not one of this server's").waitFor();
      await on.picture(page, "login-wrong");
      expect(await cookies(page.context())).toEqual([]);

      await page.getByRole("button", { name: "Show" }).click();
      expect(await page.getByLabel("Token").getAttribute("type")).toBe("text");
      expect(await page.getByLabel("Token").inputValue()).toBe("qt-guess");
      await page.getByLabel("Token").fill(` ${admin} `);
      await page.keyboard.press("Enter");
      await heading(page, "Plans");
      await live(page);
      expect(await cookies(page.context())).toMatchObject([{ httpOnly: true, sameSite: "Strict", path: "/", secure: false }]);
      expect(await page.evaluate(() => document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage))).not.toContain(admin.slice(3, 20));
    }));

  test.each([["dark", { dark: true }], ["narrow", { width: 360 }]])("looks right when it is %s", (name, options) =>
    on.visit("", { ...options, expected: plain }, async (page) => {
      await heading(page, "Log in");
      await on.picture(page, `login-${name}`);
    }));

  test("lasts until one logs out", () =>
    on.visit("", { expected: refusals }, async (page) => {
      await login(page, admin);
      await heading(page, "Pools");
      await page.reload();
      await heading(page, "Pools");
      await page.getByRole("button", { name: "Log out" }).click();
      await heading(page, "Log in");
      expect(await cookies(page.context())).toEqual([]);
      await page.reload();
      await heading(page, "Log in");
    }));
});

const cookies = (context: BrowserContext) => context.cookies();

/** What the engine answers to the page, when it changes something by its session. */
const change = (page: Page): Promise<number> =>
  page.evaluate(async () => (await fetch("/api/quota/settings", { method: "PUT", headers: { "Content-Type": "application/json" }, body: '{"maxLagMs":5000}' })).status);

describe("roles", () => {
  test("admin changes what it likes", () =>
    on.visit("", { expected: plain }, async (page) => {
      await login(page, admin);
      await page.getByText("may change everything").waitFor();
      await page.getByRole("link", { name: "New pool" }).first().waitFor();
      expect(await change(page)).toBe(200);
      await live(page);
      await on.picture(page, "login-admin");
      await page.getByRole("link", { name: "New pool" }).first().click();
      await heading(page, "New pool");
    }));

  test("read sees everything, is offered no change, and gets none", () =>
    on.visit("", { expected: refusals }, async (page) => {
      await login(page, viewer);
      await page.getByText("may look, and change nothing").waitFor();
      await live(page);
      await page.getByText("Kimi for the team").first().waitFor();
      await on.picture(page, "login-read");
      for (const [address, title, shown] of pages) {
        await page.goto(`${on.engine.url}/#/${address}`);
        await heading(page, title);
        await page.getByText(shown).first().waitFor();
        const offered = await page.getByRole("button").or(page.getByRole("link")).allTextContents();
        expect([address, offered.filter((text) => changes.test(text))]).toEqual([address, []]);
      }
      await page.goto(`${on.engine.url}/#/edit`);
      await heading(page, "Nothing can be changed");
      expect(await change(page)).toBe(403);
    }));

  test("self sees its own keys alone", () =>
    on.visit("", { expected: plain }, async (page) => {
      await login(page, own);
      await heading(page, "Your keys");
      await page.getByRole("heading", { name: "amelie", exact: true }).waitFor();
      expect(await page.getByText("trial").count()).toBeGreaterThan(0);
      expect(await page.getByText("tomasz").count()).toBe(0);
      await page.getByText("It is in no pool").waitFor();
      await on.picture(page, "login-self");
    }));

  test("self on a narrow screen in the dark", () =>
    on.visit("", { width: 360, dark: true, expected: plain }, async (page) => {
      await login(page, own);
      await page.getByRole("heading", { name: "amelie", exact: true }).waitFor();
      await page.getByText("5-hour").first().waitFor();
      await on.picture(page, "login-self-narrow");
    }));

  test("ingest sees nothing, and is told so", () =>
    on.visit("", { expected: plain }, async (page) => {
      await login(page, publisher);
      await heading(page, "Nothing to see");
      await on.picture(page, "login-ingest");
    }));

  test("a narrow frame has room for who one is", () =>
    on.visit("", { width: 360, expected: plain }, async (page) => {
      await login(page, viewer);
      await live(page);
      await on.picture(page, "login-read-narrow");
    }));
});

/** A page of somebody else's, on another port of the engine's own host: to a browser it is of the same site, and gets its cookies. */
async function neighbour(onCookie: (cookie: string) => void): Promise<Server> {
  const server = createServer((request, response) => {
    onCookie(request.headers.cookie ?? "");
    response.setHeader("Content-Type", "text/html").end("<title>x</title>");
  }).listen(0, host);
  await new Promise((resolve) => server.once("listening", resolve));
  return server;
}

test("a page on another port uses nobody's session", () =>
  on.visit("", { expected: plain }, async (page) => {
    await login(page, admin);
    await heading(page, "Pools");
    let seen = "";
    const server = await neighbour((cookie) => void (seen += cookie));
    const before = await snapshots();
    const other = await page.context().newPage();
    await other.goto(`http://${host}:${(server.address() as AddressInfo).port}/`);
    const sent = other.waitForResponse(/api.quota.snapshots/);
    await other.evaluate((engine) => fetch(`${engine}/api/quota/snapshots`, { method: "POST", mode: "no-cors", credentials: "include" }), on.engine.url);
    const answer = await sent;
    expect(seen).toContain("quotashare-"); // else the browser keeps it back, and nothing is tested
    expect(answer.status()).toBe(403);
    expect(await snapshots()).toBe(before);
    server.close();
    server.closeAllConnections();
  }));

async function snapshots(): Promise<number> {
  const answer = await fetch(`${on.engine.url}/api/quota/snapshots`, { headers: { Authorization: `Bearer ${admin}` } });
  return ((await answer.json()) as { total: number }).total;
}

/** Pages on which something can be changed, and what they show when they are there. */
const pages: [string, string, string | RegExp][] = [
  ["", "Pools", "Codex subscription"],
  ["pools/kimi-team", "Kimi for the team", "search-service"],
  ["plans", "Plans", "openai-reports"],
  ["plans/openai-reports", "Plan of openai-reports", "It was set by hand"],
  ["settings", "Settings", /lag/i],
];

/** Words of what changes something. */
const changes = /\b(new pool|create|edit|delete|change|save|revert|import|add|set|reset|back to)\b/i;

test("a page whose token is removed says that its session has ended, and takes another", () =>
  on.visit("#/decisions", { expected: refusals }, async (page) => {
    const short = await add("visitor", "read");
    await expect.poll(() => signIn(short)).toBe(200);
    await login(page, short);
    await live(page);
    await command("tokens", "remove", "--tokens-file", file, "--name", "visitor");
    await heading(page, "Log in");
    await page.getByText("Your session has ended").waitFor();
    await login(page, viewer);
    await heading(page, "Decisions");
  }));

/** Whether the engine has seen the token yet: it looks at its file every second. */
async function signIn(token: string): Promise<number> {
  return (await fetch(`${on.engine.url}/api/quota/state`, { headers: { Authorization: `Bearer ${token}` } })).status;
}
