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
import { Who } from "./who";

export interface Session {
  readonly api: Api;
  readonly store: Store;
  readonly connection: Connection;
  readonly who: Who;
  /** Reads the pools again, after a change of one's own for instance. */
  refresh(): Promise<void>;
  /** Says whether somebody looks at the page. It listens to the engine while somebody does, and may. */
  seen(visible: boolean): void;
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

/** reload begins the page anew. */
export function newSession(fetch: Fetch, reload: () => void = () => undefined): Session {
  const asking: Fetch = async (url, init) => {
    const response = await fetch(url, init);
    if (response.status === 401) who.lost();
    return response;
  };
  const api = newApi(asking);
  const who = new Who(api.session, reload);
  const store = new Store();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asked = 0;

  const refresh = async (): Promise<void> => {
    clearTimeout(timer);
    const mine = ++asked;
    try {
      const list = await api.pools.list();
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
  const poll = async (): Promise<void> => {
    await refresh();
    if (store.trouble.peek()) return;
    store.setState(await api.log.state());
    for (const pool of store.pools.peek() ?? []) store.setUsage(await api.pools.usage(pool.id));
    store.heard();
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
      if (link.kind === "live") soon(0);
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
  return { api, store, connection, who, refresh, seen };
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
