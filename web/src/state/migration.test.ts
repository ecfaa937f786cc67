import { expect, test, vi } from "vitest";
import { legacyPlace } from "./legacy";
import { Migrator, type Place } from "./migration";
import { newSession } from "./session";

const old = [{ id: "a", connectionId: "k-1", name: "A", provider: "kimi", allocations: [{ apiKeyId: "ann", weight: 50, capValue: 100, capUnit: "requests", policy: "hard" }] }];

interface Sent {
  method: string;
  body: unknown;
}

/** A browser that keeps a text, and an engine that answers a batch. */
function stage(kept: string | null, answer: () => Response) {
  const places = new Map(kept === null ? [] : [[legacyPlace, kept]]);
  const sent: Sent[] = [];
  const session = newSession((_, init) => {
    if (init.method !== "POST") return Promise.resolve(Response.json({ pools: [{ id: "a" }], total: 1 }));
    sent.push({ method: "POST", body: JSON.parse(String(init.body)) });
    return Promise.resolve(answer());
  });
  const place: Place = { getItem: (name) => places.get(name) ?? null, removeItem: (name) => void places.delete(name) };
  const migrator = new Migrator(session, () => place);
  return { session, migrator, sent, kept: () => places.get(legacyPlace) ?? null };
}

const taken = (): Response => Response.json({ pools: [{ id: "a" }], total: 1 }, { status: 201 });
const refused = (): Response => Response.json({ error: { code: "conflict", message: "there are pools already" } }, { status: 409 });

test("pools that the browser kept are posted in one batch, once, and then forgotten", async () => {
  const { session, migrator, sent, kept } = stage(JSON.stringify(old), taken);
  migrator.start();
  expect(sent).toEqual([]); // whether the engine has pools is not known yet
  session.store.setPools([]);
  await vi.waitFor(() => expect(migrator.state.value).toEqual({ kind: "done", count: 1 }));
  expect(sent).toEqual([{ method: "POST", body: old }]);
  expect(kept()).toBeNull();
  session.store.setPools([]);
  await migrator.run();
  expect(sent).toHaveLength(1);
});

test("an engine that has pools is left alone, also when they are deleted later", () => {
  const { session, migrator, sent, kept } = stage(JSON.stringify(old), taken);
  migrator.start();
  session.store.setPools([{ id: "mine" } as never]);
  session.store.setPools([]);
  expect(sent).toEqual([]);
  expect(kept()).not.toBeNull();
});

test("what the engine refuses stays kept, with the engine's words, and can be tried again", async () => {
  let answer = refused;
  const { migrator, kept } = stage(JSON.stringify(old), () => answer());
  await migrator.run();
  expect(migrator.state.value).toMatchObject({ kind: "refused", error: { message: "there are pools already" } });
  expect(kept()).toBe(JSON.stringify(old));
  answer = taken;
  await migrator.run();
  expect(migrator.state.value.kind).toBe("done");
  expect(kept()).toBeNull();
});

test("two tries at once are one", async () => {
  const { migrator, sent } = stage(JSON.stringify(old), taken);
  await Promise.all([migrator.run(), migrator.run()]);
  expect(sent).toHaveLength(1);
});

test.each([[null], [""], ["[]"]])("%j is nothing to bring", async (text) => {
  const { migrator, sent } = stage(text, taken);
  await migrator.run();
  expect([migrator.state.value.kind, sent.length]).toEqual(["none", 0]);
});

test("what cannot be read stays kept, and is said", async () => {
  const { migrator, sent, kept } = stage("[{", taken);
  await migrator.run();
  expect([migrator.state.value.kind, sent.length, kept()]).toEqual(["unreadable", 0, "[{"]);
});

test("a browser that keeps nothing has nothing to bring", async () => {
  const { session } = stage(null, taken);
  const migrator = new Migrator(session, () => {
    throw new DOMException("denied", "SecurityError");
  });
  await migrator.run();
  expect(migrator.state.value.kind).toBe("none");
});
