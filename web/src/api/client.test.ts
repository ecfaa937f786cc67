import { describe, expect, test } from "vitest";
import { segment, url } from "./call";
import { asked, newApi } from "./client";
import { ApiError } from "./error";

interface Sent {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
}

/** An API whose engine gives the answers in turn, and what was asked of it. */
function engine(...answers: (Response | Error)[]) {
  const sent: Sent[] = [];
  const api = newApi((address, init) => {
    sent.push({
      url: address,
      method: init.method ?? "",
      headers: init.headers as Record<string, string>,
      body: init.body as string | undefined,
    });
    const answer = answers.shift() ?? new Error("nothing more was expected");
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  });
  return { api, sent };
}

const json = (document: unknown, init: ResponseInit = {}): Response => new Response(JSON.stringify(document), init);

async function failure(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.then(() => undefined, (e: unknown) => e);
  if (!(error instanceof ApiError)) throw new Error(`no ApiError: ${String(error)}`);
  return error;
}

describe("addresses", () => {
  test.each([
    ["team a/1%", "team%20a%2F1%25"],
    ["qtSd:ä", "qtSd%3A%C3%A4"],
    [".", "%2E"],
    ["..", "%2E%2E"],
    ["a.b", "a.b"],
  ])("the id %s is one part of a path", (id, want) => expect(segment(id)).toBe(want));

  test.each([".", ".."])("nothing is asked about the id %s: a browser would ask about something else", async (id) => {
    const { api, sent } = engine();
    await expect(api.pools.get(id)).rejects.toMatchObject({ code: "invalid" });
    await expect(api.pools.usage(id)).rejects.toMatchObject({ code: "invalid" });
    expect(sent).toEqual([]);
  });

  test("what is undefined is left out", () => {
    expect(url("/x", { a: 1, b: undefined, c: "ü &", d: false })).toBe("/x?a=1&c=%C3%BC+%26&d=false");
    expect(url("/x")).toBe("/x");
  });

  test("an estimate becomes parameters of its own", () => {
    expect(asked({ apiKeyId: "k", estimate: { tokens: 800 } })).toEqual({ apiKeyId: "k", "estimate.tokens": 800 });
  });
});

describe("calls", () => {
  test("ask why with every part of the question, and for rejected events from the newest on", async () => {
    const { api, sent } = engine(json({}), json({ rejected: [], total: 0 }));
    await api.answers.explain({ apiKeyId: "ann", pool: "team", estimate: { tokens: "9007199254740993" }, at: "2026-09-21T14:00:00.000Z", top: 3 });
    await api.log.rejected({ text: "a&b", before: 7 });
    expect(sent.map((s) => decodeURIComponent(s.url))).toEqual([
      "/api/quota/explain?apiKeyId=ann&pool=team&at=2026-09-21T14:00:00.000Z&top=3&estimate.tokens=9007199254740993",
      "/api/quota/rejected?order=newest&text=a&b&before=7",
    ]);
  });

  test("read every page", async () => {
    const { api, sent } = engine(
      json({ pools: [{ id: "a" }, { id: "b" }], total: 3 }),
      json({ pools: [{ id: "c" }], total: 3 }),
    );
    expect((await api.pools.list()).map((pool) => pool.id)).toEqual(["a", "b", "c"]);
    expect(sent.map((s) => s.url)).toEqual([
      "/api/quota/pools?limit=1000&offset=0",
      "/api/quota/pools?limit=1000&offset=2",
    ]);
  });

  test("read the plans of all connections, and the catalogue once", async () => {
    const { api, sent } = engine(
      json({ plans: [{ connectionId: "a" }, { connectionId: "b" }], total: 3, catalogue: [{ provider: "kimi" }] }),
      json({ plans: [{ connectionId: "c" }], total: 3, catalogue: [{ provider: "kimi" }] }),
    );
    const { plans, total, catalogue } = await api.plans.list();
    expect([plans.map((plan) => plan.connectionId), total, catalogue.length]).toEqual([["a", "b", "c"], 3, 1]);
    expect(sent.map((s) => s.url)).toEqual(["/api/quota/plans?limit=1000", "/api/quota/plans?limit=1000&offset=2"]);
  });

  test("end when a list shrinks meanwhile", async () => {
    const { api } = engine(json({ keys: [{ apiKeyId: "a" }], total: 2 }), json({ keys: [], total: 2 }));
    expect(await api.log.keys()).toHaveLength(1);
  });

  test("send a reason of any alphabet as its bytes in UTF-8", async () => {
    const { api, sent } = engine(json({ pool: { id: "p" } }));
    await api.pools.patch("p", { name: "Team" }, { reason: "für Łukasz" });
    const header = (sent[0]?.headers as Record<string, string>)["X-Quota-Reason"] ?? "";
    expect(new TextDecoder().decode(Uint8Array.from(header, (c) => c.charCodeAt(0)))).toBe("für Łukasz");
    expect(() => new Headers({ "X-Quota-Reason": header })).not.toThrow();
  });

  test("say which revision they change, who and why", async () => {
    const { api, sent } = engine(json({ pool: { id: "p" } }));
    await api.pools.patch("p/1", { name: "Team" }, { revision: 0, actor: "nina", reason: "new name" });
    expect(sent).toEqual([
      {
        url: "/api/quota/pools/p%2F1",
        method: "PATCH",
        headers: {
          Accept: "application/json", "Content-Type": "application/json",
          "If-Match": '"0"', "X-Quota-Actor": "nina", "X-Quota-Reason": "new name",
        },
        body: '{"name":"Team"}',
      },
    ]);
  });

  test("a trial is marked as one", async () => {
    const { api, sent } = engine(json({ dryRun: true, blocked: [], freed: [] }));
    await api.pools.tryRemove("p");
    expect(sent[0]).toMatchObject({ url: "/api/quota/pools/p?dryRun=true", method: "DELETE" });
  });

  test("an answer without a document is none", async () => {
    const { api } = engine(new Response(null, { status: 204 }));
    expect(await api.pools.remove("p")).toBeUndefined();
  });

  test("amounts keep their digits", async () => {
    const { api } = engine(new Response('{"usage":{"poolId":"p","dimensions":[{"limit":9007199254740993.5}]}}'));
    expect((await api.pools.usage("p")).dimensions[0]?.limit).toBe("9007199254740993.5");
  });
});

describe("errors", () => {
  test("are the engine's own words", async () => {
    const faults = [{ field: "name", problem: "is missing" }];
    const { api } = engine(json({ error: { message: "name is missing", type: "t", code: "invalid", faults } }, { status: 400 }));
    const error = await failure(api.pools.get("p"));
    expect([error.code, error.message, error.status]).toEqual(["invalid", "name is missing", 400]);
    expect([error.problemOf("name"), error.problemOf("mode")]).toEqual(["is missing", ""]);
  });

  test("say when to come back", async () => {
    const headers = { "Retry-After": "2" };
    const { api } = engine(json({ error: { message: "m", type: "t", code: "not-ready" } }, { status: 503, headers }));
    expect((await failure(api.log.state())).retryAfterMs).toBe(2000);
  });

  test.each([
    ["a proxy's page", new Response("<html>", { status: 502 }), "unreadable", 502],
    ["another error's form", json({ error: "no" }, { status: 400 }), "unreadable", 400],
    ["a page instead of a document", new Response("<html>"), "unreadable", 200],
    ["nothing", new TypeError("Failed to fetch"), "unreachable", 0],
  ])("of %s", async (_, answer, code, status) => {
    const { api } = engine(answer);
    const error = await failure(api.log.state());
    expect([error.code, error.status]).toEqual([code, status]);
  });

  test("who hangs up is told nothing else", async () => {
    const { api } = engine(new DOMException("gone", "AbortError"));
    await expect(api.log.state()).rejects.toThrow(DOMException);
  });
});
