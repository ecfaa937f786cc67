/** Where one is: the part of the address behind "#". A link to a page can be kept and sent. */
import { signal } from "@preact/signals";
import { mayLeave } from "./leave";

export const pageNames = ["pools", "pool", "edit", "plans", "why", "whatif", "decisions", "rejected", "settings"] as const;
export type PageName = (typeof pageNames)[number];

export interface Route {
  /** null for an address that leads nowhere. */
  readonly page: PageName | null;
  /** What the page is about: the id of a pool for instance; "" for none. */
  readonly id: string;
  readonly query: Readonly<Record<string, string>>;
}

/** Pages that are reached under another's name: #/pools/<id> is the page of one pool. */
function pageOf(name: string, id: string): PageName | null {
  if (name === "" || name === "pools") return id === "" ? "pools" : "pool";
  return pageNames.find((page) => page === name) ?? null;
}

/** Reads "#/pools/team%20a?key=ann". */
export function parseRoute(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [name = "", ...rest] = path.split("/");
  const id = decoded(rest.join("/"));
  return { page: id === null ? null : pageOf(name, id), id: id ?? "", query: Object.fromEntries(new URLSearchParams(search)) };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null; // half of an escape
  }
}

/** The address of a page. */
export function href(page: PageName, id = "", query: Record<string, string> = {}): string {
  const name = page === "pool" ? "pools" : page;
  const search = new URLSearchParams(query).toString();
  return `#/${name}${id && `/${encodeURIComponent(id)}`}${search && `?${search}`}`;
}

/** Where one is now. */
export const route = signal<Route>(parseRoute(""));

/** Where the page itself goes: it knows what is saved. */
let meant = "";

/** The address of what is shown. */
let here = "";

/** Whether an address is of what is shown, or nobody minds to leave it. */
function free(to: Route): boolean {
  const { page, id } = route.peek();
  return location.hash === meant || (to.page === page && to.id === id) || mayLeave();
}

/** Follows the address from now on, as far as what is shown may be left for it. */
export function followAddress(): void {
  const read = (): void => {
    const to = parseRoute(location.hash);
    if (free(to)) [route.value, here] = [to, location.hash];
    else history.replaceState(null, "", here || "#/");
    meant = "";
  };
  addEventListener("hashchange", read);
  read();
}

/** Goes to a page. */
export function go(page: PageName, id = "", query: Record<string, string> = {}): void {
  const to = href(page, id, query);
  if (to !== location.hash) meant = to;
  location.hash = to;
}
