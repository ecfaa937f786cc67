/** One request and its answer. */
import { ApiError, refusal, unreachable } from "./error";
import { parseJson } from "./json";

export type Query = Record<string, string | number | boolean | undefined>;

export interface Request {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** What is needed of the browser. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Makes a call, and gives the document of its answer, undefined where there is none. Throws ApiError. */
export type Call = (path: string, request?: Request) => Promise<unknown>;

/** A path with its parameters; those that are undefined are left out. */
export function url(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

/** A part of a path: slashes, percents and spaces of an id do not part it. */
export function segment(id: string): string {
  return id === "." || id === ".." ? id.replace(/\./g, "%2E") : encodeURIComponent(id);
}

/**
 * A browser takes a part that is a dot or two out of a path, escaped or not, and
 * would ask about something else. No id is safe from being that: it is said.
 */
function reachable(path: string): void {
  if (!/\/(%2E){1,2}(\/|$)/.test(path)) return;
  throw new ApiError("invalid", "no browser can ask for an id that is a dot or two, as it reads them as a folder: use the API from a program, which keeps %2E");
}

export function newCall(fetch: Fetch): Call {
  return async (path, request = {}) => {
    reachable(path);
    const response = await send(fetch, path, request);
    const text = await read(response);
    if (!response.ok) throw refusal(response.status, parsed(text), response.headers.get("Retry-After"));
    if (response.status === 204) return undefined;
    const document = parsed(text);
    if (document === undefined) throw new ApiError("unreadable", "the answer is not one of the engine", response.status);
    return document;
  };
}

async function send(fetch: Fetch, path: string, request: Request): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json", ...request.headers };
  const init: RequestInit = { method: request.method ?? "GET", headers, cache: "no-store", redirect: "error" };
  if (request.signal) init.signal = request.signal;
  if (request.body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(request.body);
  }
  try {
    return await fetch(url(path, request.query), init);
  } catch (error) {
    throw aborted(error) ? error : unreachable();
  }
}

/** The body may break off, as the head may not come. */
async function read(response: Response): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw aborted(error) ? error : unreachable();
  }
}

/** Whether who asked has hung up: nobody needs to be told. */
export function aborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
