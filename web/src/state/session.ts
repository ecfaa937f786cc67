/** Puts the API, the stream and the store together, for as long as the page is open. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Fetch } from "../api/call";
import { newApi, type Api } from "../api/client";
import { ApiError, unreachable } from "../api/error";
import { Connection } from "../live/connection";
import type { StreamEvent } from "../live/sse";
import { type Action, may } from "../model/may";
import { Store } from "./store";
import { type Others, Who } from "./who";

export interface Session {
  readonly api: Api;
  readonly store: Store;
  readonly connection: Connection;
  readonly who: Who;
  /** Reads the pools again, after a change of one's own for instance. */
  refresh(): Promise<void>;
  /** Says whether somebody looks at the page. It listens to the engine while somebody does, and may. */
  seen(visible: boolean): void;
  /** Moves the clock on, about every second. */
  tick(): void;
}

/** Changes often come in crowds, an import of a thousand pools say: they are read once. */
const settle = 200;

/**
 * How many events are taken before the page is drawn. Fifty pools that change in
 * the same second would else be one long moment in which nothing can be clicked.
 */
const atOnce = 8;

/** So many events are no change but a page that was asleep: what lies between is not drawn. */
const asleep = 500;

/** How soon pools are asked for again that could not be read. */
const again = 2_000;

/** How many pools are asked about at a time: as many as a browser would ask at once, less some for who looks at a page. */
const abreast = 4;

/** How long an answer is waited for where all is asked for, in milliseconds: one that never comes must not end the asking. */
const patience = 30_000;

/** Does something with each of a list, a few at a time. */
async function each<T>(list: readonly T[], abreast: number, work: (one: T) => Promise<void>): Promise<void> {
  const left = [...list];
  const lane = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one);
  };
  await Promise.all(Array.from({ length: abreast }, lane));
}

/** reload begins the page anew; others are the other pages of this browser. */
export function newSession(fetch: Fetch, reload: () => void = () => undefined, others?: Others): Session {
  const asking: Fetch = async (url, init) => {
    const sent = Date.now();
    const response = await fetch(url, init);
    const told = Date.parse(response.headers.get("Date") ?? "");
    if (!Number.isNaN(told)) store.saw(told, sent);
    if (response.status === 401) who.lost();
    return response;
  };
  const api = newApi(asking);
  const who = new Who(api.session, reload, others);
  const store = new Store();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asked = 0;

  const refresh = async (from = api): Promise<void> => {
    clearTimeout(timer);
    const mine = ++asked;
    try {
      const list = await from.pools.list();
      if (mine === asked) store.setPools(list); // a later answer may have overtaken this one
    } catch (error) {
      store.trouble.value = error instanceof ApiError ? error : unreachable();
      if (store.trouble.value.code === "not-ready") soon(again);
    }
  };
  const soon = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void refresh(), ms);
  };
  let round = 0;
  const poll = async (): Promise<void> => {
    const mine = ++round;
    const polled = newApi((url, init) => asking(url, { ...init, signal: AbortSignal.timeout(patience) }));
    await refresh(polled);
    if (store.trouble.peek()) return;
    store.setState(await polled.log.state());
    store.heard();
    await each(store.pools.peek() ?? [], abreast, async ({ id }) => {
      const usage = await polled.pools.usage(id).catch(() => null); // of one pool there may be none, of the others there is
      if (!usage || mine !== round) return; // a stream has begun, and what it told is newer
      store.setUsage(usage);
      store.heard();
    });
  };
  const waiting: StreamEvent[] = [];
  let taking = false;
  const take = (): void => {
    const some = waiting.splice(0, waiting.length > asleep ? waiting.length : atOnce);
    taking = waiting.length > 0;
    if (taking) setTimeout(take, 0);
    if (store.take(some)) soon(settle);
  };
  const connection = new Connection(asking, {
    link(link) {
      store.link.value = link;
      if (link.kind === "live") {
        round++;
        soon(0);
      }
      // The engine did not answer when it was asked first.
      if (link.kind === "live" && who.identity.peek() && !who.role) void who.ask();
    },
    heard: () => store.heard(),
    events(events) {
      waiting.push(...events);
      if (!taking) take();
    },
    // What fails is asked for again in 30 seconds, and the link says that it is old.
    poll: () => poll().catch(() => undefined),
  });
  const seen = (visible: boolean): void => {
    if (!who.needsToken && may(who.role, "see")) connection.seen(visible);
  };
  const tick = (): void => {
    if (store.tick()) void api.session.get().catch(() => undefined); // whatever it answers has the engine's time in its head
  };
  return { api, store, connection, who, refresh: () => refresh(), seen, tick };
}

const Context = createContext<Session | null>(null);

export const SessionProvider = Context.Provider;

/** The session of the page. */
export function useSession(): Session {
  const session = useContext(Context);
  if (!session) throw new Error("there is no session above this part");
  return session;
}

/** Whether the page offers to do that. */
export function useMay(action: Action): boolean {
  return may(useSession().who.role, action);
}
