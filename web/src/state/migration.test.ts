import { expect, test, vi } from "vitest";
import { legacyPlace, type Place } from "./legacy";
import { type Alone, Migrator, sentPlace } from "./migration";
import { newSession } from "./session";

const old = [{ id: "a", connectionId: "k-1", name: "A", provider: "kimi", allocations: [{ apiKeyId: "ann", weight: 50, capValue: 100, capUnit: "requests", policy: "hard" }] }];
const text = JSON.stringify(old);
const both = JSON.stringify([...old, { id: "b" }]);

type Answer = () => Response | Error;

/** A browser that keeps a text, with as many pages as are opened, and an engine that answers a batch. */
function stage(kept: string | null, answer: Answer) {
  const places = new Map(kept === null ? [] : [[legacyPlace, kept]]);
  const engine = { sent: [] as unknown[], pools: [] as { id: string }[], answer };
  const place: Place = { getItem: (name) => places.get(name) ?? null, setItem: (name, to) => void places.set(name, to), removeItem: (name) => void places.delete(name) };
  const page = (alone?: Alone) => {
    const session = newSession(async (_, init) => {
      if (init.method !== "POST") return Response.json({ pools: engine.pools, total: engine.pools.length });
      engine.sent.push(JSON.parse(String(init.body)));
      const said = engine.answer();
      if (said instanceof Error) throw said;
      return said;
    });
    const migrator = new Migrator(session, () => place, alone);
    const opened = async (): Promise<void> => {
      migrator.start();
      await session.refresh();
    };
    return { session, migrator, opened };
  };
  return { ...page(), page, engine, places, kept: () => places.get(legacyPlace) ?? null };
}

const taken = (): Response => Response.json({ pools: [{ id: "a" }], total: 1 }, { status: 201 });
const refusal = (code: string, message: string, status: number): Response => Response.json({ error: { code, message } }, { status });
const conflict = (): Response => refusal("conflict", "there are pools already", 409);
const lost = (): Error => new TypeError("the network went");

test("pools that the browser kept are posted in one batch, once, and then forgotten", async () => {
  const { session, migrator, engine, places } = stage(text, taken);
  migrator.start();
  expect(engine.sent).toEqual([]); // whether the engine has pools is not known yet
  session.store.setPools([]);
  await vi.waitFor(() => expect(migrator.state.value).toEqual({ kind: "done", count: 1 }));
  expect(engine.sent).toEqual([old]);
  expect([...places]).toEqual([]);
  session.store.setPools([]);
  await migrator.run();
  expect(engine.sent).toHaveLength(1);
});

test("an engine that has pools is left alone, also when they are deleted later", () => {
  const { session, migrator, engine, kept } = stage(text, taken);
  migrator.start();
  session.store.setPools([{ id: "mine" } as never]);
  session.store.setPools([]);
  expect([engine.sent, kept()]).toEqual([[], text]);
});

test("what the engine refuses stays kept, with the engine's words, and can be tried again", async () => {
  const { migrator, engine, places, kept } = stage(text, () => refusal("invalid", "[0].name is missing", 400));
  await migrator.run();
  expect(migrator.state.value).toMatchObject({ kind: "refused", error: { message: "[0].name is missing" } });
  expect([...places]).toEqual([[legacyPlace, text]]);
  engine.answer = taken;
  await migrator.run();
  expect([migrator.state.value.kind, kept()]).toEqual(["done", null]);
});

test("two tries at once are one", async () => {
  const { migrator, engine } = stage(text, taken);
  await Promise.all([migrator.run(), migrator.run()]);
  expect(engine.sent).toHaveLength(1);
});

test("of two pages one brings them, and the other finds them brought", async () => {
  let last = Promise.resolve();
  const alone: Alone = (work) => (last = last.then(work));
  const { page, engine, kept } = stage(text, taken);
  const pages = [page(alone), page(alone)];
  await Promise.all(pages.map(({ migrator }) => migrator.run()));
  expect(pages.map(({ migrator }) => migrator.state.value.kind)).toEqual(["done", "none"]);
  expect([engine.sent.length, kept()]).toEqual([1, null]);
});

test("a page that cannot wait for another is refused, and believes the engine that they are there", async () => {
  const { page, engine, places } = stage(text, taken);
  const first = page();
  await first.migrator.run();
  places.set(legacyPlace, text); // as the other page has read it just before
  engine.answer = conflict;
  engine.pools = [{ id: "a" }];
  const second = page();
  await second.migrator.run();
  expect([second.migrator.state.value, places.get(legacyPlace)]).toEqual([{ kind: "done", count: 1 }, undefined]);
});

test("a list of which the engine has others is refused, and stays kept", async () => {
  const { migrator, engine, kept } = stage(text, conflict);
  engine.pools = [{ id: "b" }];
  await migrator.run();
  expect([migrator.state.value.kind, kept()]).toEqual(["refused", text]);
});

test("a page that was closed before the answer leaves what the next one finds brought", async () => {
  const { migrator, engine, page, places } = stage(text, lost);
  await migrator.run();
  expect([migrator.state.value.kind, places.get(legacyPlace)]).toEqual(["refused", text]);
  engine.pools = [{ id: "a" }]; // for the engine had taken them
  const next = page();
  await next.opened();
  expect([engine.sent.length, [...places], next.migrator.state.value.kind]).toEqual([1, [], "none"]);
});

test("a page that was closed before anything arrived leaves it for the next one", async () => {
  const { migrator, engine, page, kept } = stage(text, lost);
  await migrator.run();
  engine.answer = taken;
  const next = page();
  await next.opened();
  await vi.waitFor(() => expect(next.migrator.state.value.kind).toBe("done"));
  expect([engine.sent.length, kept()]).toEqual([2, null]);
});

test.each([
  ["never sent", [{ id: "a" }, { id: "b" }], undefined],
  ["sent as another list", [{ id: "a" }, { id: "b" }], text],
  ["sent, and only some of it there", [{ id: "a" }], both],
])("a list that was %s stays kept", async (_, pools, sent) => {
  const { engine, places, opened } = stage(both, taken);
  if (sent !== undefined) places.set(sentPlace, sent);
  engine.pools = pools;
  await opened();
  expect([engine.sent, places.get(legacyPlace)]).toEqual([[], both]);
});

test.each([[null], [""], ["[]"]])("%j is nothing to bring", async (kept) => {
  const { migrator, engine } = stage(kept, taken);
  await migrator.run();
  expect([migrator.state.value.kind, engine.sent.length]).toEqual(["none", 0]);
});

test("what cannot be read stays kept, and is said", async () => {
  const { migrator, engine, kept } = stage("[{", taken);
  await migrator.run();
  expect([migrator.state.value.kind, engine.sent.length, kept()]).toEqual(["unreadable", 0, "[{"]);
  migrator.discard();
  expect([migrator.state.value.kind, kept()]).toEqual(["none", null]);
});

test("what can be read is not thrown away", async () => {
  const { migrator, kept } = stage(text, () => refusal("invalid", "[0].name is missing", 400));
  await migrator.run();
  migrator.discard();
  expect([migrator.state.value.kind, kept()]).toEqual(["refused", text]);
});

test("a browser that keeps nothing has nothing to bring", async () => {
  const { session } = stage(null, taken);
  const migrator = new Migrator(session, () => {
    throw new DOMException("denied", "SecurityError");
  });
  await migrator.run();
  expect(migrator.state.value.kind).toBe("none");
});
