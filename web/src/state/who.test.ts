import { expect, test, vi } from "vitest";
import { newSession } from "./session";

/** An engine that answers what the test says, and what it was asked. */
function engine(answer: (of: string) => Response) {
  const asked: string[] = [];
  const restart = vi.fn();
  const session = newSession((url, init) => {
    const of = `${init.method ?? "GET"} ${url.replace("/api/quota/", "").replace(/\?.*/, "")}`;
    asked.push(of);
    return Promise.resolve(answer(of));
  }, restart);
  return { session, asked, restart };
}

const refused = (): Response => Response.json({ error: { code: "unauthorized", message: "token is not one of this server's" } }, { status: 401 });

test("a page that needs a token asks nothing before it has one", async () => {
  const { session, asked } = engine(() => Response.json({ needsToken: true }));
  await session.who.ask();
  session.seen(true);
  expect(session.who.needsToken).toBe(true);
  expect(asked).toEqual(["GET session"]);
});

test.each([["read", 2], ["self", 1], ["ingest", 1]])("%s listens to the engine if it may see what it hears", async (role, calls) => {
  const { session, asked } = engine(() => Response.json({ needsToken: false, role, name: "x" }));
  await session.who.ask();
  session.seen(true);
  expect(asked).toHaveLength(calls);
  session.connection.stop();
});

test("a token that is taken begins the page anew, and one that is not does not", async () => {
  let answer = refused;
  const { session, restart } = engine(() => answer());
  await expect(session.who.login("guess")).rejects.toMatchObject({ message: "token is not one of this server's" });
  expect(restart).not.toHaveBeenCalled();
  answer = () => Response.json({ needsToken: false, role: "read" });
  await session.who.login("right");
  expect(restart).toHaveBeenCalledTimes(1);
});

test("who logs out sees nothing more; one whose engine does not answer is not logged out", async () => {
  let answer = (): Response => new Response("", { status: 502 });
  const { session, restart } = engine(() => answer());
  await expect(session.who.logout()).rejects.toThrow();
  expect(restart).not.toHaveBeenCalled();
  answer = () => new Response(null, { status: 204 });
  await session.who.logout();
  expect(restart).toHaveBeenCalledTimes(1);
});

test("a call that is refused shows that the token is gone", async () => {
  const { session } = engine((of) => (of === "GET session" ? Response.json({ needsToken: false, role: "read", name: "x" }) : refused()));
  await session.who.ask();
  await session.refresh();
  expect(session.who.needsToken).toBe(true);
  expect(session.who.ended.value).toBe(true);
});

test("an engine that does not say who one is lets one see what it answers", async () => {
  const { session } = engine(() => new Response("", { status: 503 }));
  await session.who.ask();
  expect([session.who.needsToken, session.who.role]).toEqual([false, undefined]);
});

test("who logs out on one page has left the others, and only when the engine took it", async () => {
  const pages: (() => void)[] = [];
  let answer = (): Response => new Response("", { status: 502 });
  const open = () => {
    const restart = vi.fn();
    const mine = (): void => restart();
    const others = { tell: () => pages.forEach((leave) => leave !== mine && leave()), listen: (leave: () => void) => void pages.push(leave) };
    return { restart, session: newSession(() => Promise.resolve(answer()), mine, others) };
  };
  const [one, two] = [open(), open()];
  await expect(one.session.who.logout()).rejects.toThrow();
  expect(two.restart).not.toHaveBeenCalled();
  answer = () => new Response(null, { status: 204 });
  await one.session.who.logout();
  expect([one.restart, two.restart].map((restart) => restart.mock.calls.length)).toEqual([1, 1]);
});
