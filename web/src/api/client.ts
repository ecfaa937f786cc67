/**
 * The REST API, a function for each path. What comes back is believed to be
 * what /api/openapi.json says: the engine is tested against that document, and
 * a page that checked it again would be a second, older copy of it.
 */
import type { Asked, DecisionFilter, DecisionPage, Estimate, Explanation, ExplainQuestion, Reply, WhatIfQuestion, WhatIfReport } from "./answers";
import { type Call, type Fetch, type Query, newCall, segment } from "./call";
import type {
  Change, History, NewPool, NewSettings, Plan, Plans, Pool, PoolPatch, Reach, RejectedFilter, RejectedPage, SeenConnection, SeenKey,
  Settings, State, Trial, Unit, Usage, Window,
} from "./types";
import type { Amount } from "./json";
import { identity } from "./identity";
import { failOpens } from "./metrics";

/** What goes with a change. */
export interface Write {
  /** The revision that was seen: somebody else's change since then is the error lost-race. */
  revision?: number;
  /** Who makes it, and why: both are kept in the log. */
  actor?: string;
  reason?: string;
}

export interface HistoryRange {
  from?: string;
  to?: string;
  step?: number;
  key?: string;
}

export interface NewPlan {
  dimensions: { unit: Unit; window: Window; limit?: Amount | null }[];
}

const root = "/api/quota";

/** How many rows are asked for at once where all are wanted. */
const pageSize = 1000;

function headers({ revision, actor, reason }: Write): Record<string, string> {
  return {
    ...(revision === undefined ? {} : { "If-Match": `"${revision}"` }),
    ...(actor ? { "X-Quota-Actor": bytes(actor) } : {}),
    ...(reason ? { "X-Quota-Reason": bytes(reason) } : {}),
  };
}

/** A header is made of bytes, each written as one character: those of the text in UTF-8, which the engine reads. */
function bytes(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}

/** Every row of a paged list from one place on. Rows that come or go meanwhile may be missed, or be there twice. */
async function all<Row>(call: Call, path: string, field: string, query: Query = {}, from = 0): Promise<Row[]> {
  const rows: Row[] = [];
  for (;;) {
    const answer = await call(path, { query: { ...query, limit: pageSize, offset: from + rows.length } });
    const page = answer as Record<string, Row[]> & { total: number };
    const found = page[field] ?? [];
    rows.push(...found);
    if (found.length === 0 || from + rows.length >= page.total) return rows;
  }
}

const pools = (call: Call) => {
  const at = (id: string): string => `${root}/pools/${segment(id)}`;
  const one = async (answer: Promise<unknown>): Promise<Pool> => ((await answer) as { pool: Pool }).pool;
  const dryRun = { dryRun: true };
  return {
    list: () => all<Pool>(call, `${root}/pools`, "pools"),
    get: (id: string) => one(call(at(id))),
    create: (pool: NewPool, write: Write = {}) => one(call(`${root}/pools`, { method: "POST", body: pool, headers: headers(write) })),
    tryCreate: async (pool: NewPool) =>
      (await call(`${root}/pools`, { method: "POST", body: pool, query: dryRun })) as Trial & { pool: Pool },
    /** All or none; a conflict where there are pools already. What older systems wrote is taken as it is. */
    importAll: async (documents: readonly unknown[], write: Write = {}) =>
      (await call(`${root}/pools`, { method: "POST", body: documents, headers: headers(write) })) as { pools: Pool[]; total: number },
    patch: (id: string, patch: PoolPatch, write: Write = {}) =>
      one(call(at(id), { method: "PATCH", body: patch, headers: headers(write) })),
    tryPatch: async (id: string, patch: PoolPatch) =>
      (await call(at(id), { method: "PATCH", body: patch, query: dryRun })) as Trial & { pool: Pool },
    /** How far the keys of a pool could come, if this were its document. Nothing is written. */
    reach: async (pool: NewPool) => ((await call(`${root}/reach`, { method: "POST", body: pool })) as { reach: Reach }).reach,
    remove: async (id: string, write: Write = {}): Promise<void> => {
      await call(at(id), { method: "DELETE", headers: headers(write) });
    },
    tryRemove: async (id: string) => (await call(at(id), { method: "DELETE", query: dryRun })) as Trial,
    usage: async (id: string) => ((await call(`${at(id)}/usage`)) as { usage: Usage }).usage,
    history: async (id: string, range: HistoryRange = {}, signal?: AbortSignal) =>
      ((await call(`${at(id)}/history`, { query: { ...range }, ...(signal ? { signal } : {}) })) as { history: History }).history,
  };
};

const plans = (call: Call) => {
  const at = (id: string): string => `${root}/plans/${segment(id)}`;
  const one = async (answer: Promise<unknown>): Promise<Plan> => ((await answer) as { plan: Plan }).plan;
  return {
    /** The plans of all connections, and the whole catalogue. */
    list: async (): Promise<Plans> => {
      const first = (await call(`${root}/plans`, { query: { limit: pageSize } })) as Plans;
      if (first.plans.length >= first.total) return first;
      const plans = [...first.plans, ...(await all<Plan>(call, `${root}/plans`, "plans", {}, first.plans.length))];
      return { ...first, plans };
    },
    get: (connectionId: string) => one(call(at(connectionId))),
    put: (connectionId: string, plan: NewPlan, write: Write = {}) =>
      one(call(at(connectionId), { method: "PUT", body: plan, headers: headers(write) })),
    tryPut: async (connectionId: string, plan: NewPlan) =>
      (await call(at(connectionId), { method: "PUT", body: plan, query: { dryRun: true } })) as Trial & { plan: Plan },
    /** Back to the catalogue's plan, or none. */
    revert: async (connectionId: string, write: Write = {}): Promise<void> => {
      await call(at(connectionId), { method: "DELETE", headers: headers(write) });
    },
    tryRevert: async (connectionId: string) =>
      (await call(at(connectionId), { method: "DELETE", query: { dryRun: true } })) as Trial,
  };
};

const settings = (call: Call) => ({
  get: async () => ((await call(`${root}/settings`)) as { settings: Settings }).settings,
  put: async (values: NewSettings, write: Write = {}) =>
    ((await call(`${root}/settings`, { method: "PUT", body: values, headers: headers(write) })) as { settings: Settings }).settings,
  tryPut: async (values: NewSettings) =>
    (await call(`${root}/settings`, { method: "PUT", body: values, query: { dryRun: true } })) as Trial & { settings: Settings },
});

/** The parameters of a question that is asked with GET: those of the estimate are named estimate.tokens and so on. */
export function asked({ estimate, ...question }: (Asked & { at?: string }) | (ExplainQuestion & { estimate?: Estimate })): Query {
  const amounts = Object.entries(estimate ?? {}).map(([unit, amount]) => [`estimate.${unit}`, amount]);
  return { ...question, ...(Object.fromEntries(amounts) as Query) };
}

const answers = (call: Call) => ({
  /** What decide would answer now, without a trace. */
  preview: async (question: Asked & { at?: string }) => (await call(`${root}/preview`, { query: asked(question) })) as Reply,
  list: async (filter: DecisionFilter = {}) => (await call(`${root}/decisions`, { query: { ...filter } })) as DecisionPage,
  explain: async (question: ExplainQuestion, signal?: AbortSignal) =>
    (await call(`${root}/explain`, { query: asked(question), ...(signal ? { signal } : {}) })) as Explanation,
  whatIf: async (question: WhatIfQuestion, signal?: AbortSignal) =>
    (await call(`${root}/whatif`, { method: "POST", body: question, ...(signal ? { signal } : {}) })) as WhatIfReport,
});

const log = (call: Call) => ({
  state: async () => (await call(`${root}/state`)) as State,
  changes: async (after = 0, limit = 100) =>
    (await call(`${root}/changes`, { query: { after, limit } })) as { changes: Change[]; next: number | null },
  /** The newest first. */
  rejected: async (filter: RejectedFilter = {}, signal?: AbortSignal) =>
    (await call(`${root}/rejected`, { query: { order: "newest", ...filter }, ...(signal ? { signal } : {}) })) as RejectedPage,
  connections: (query: { pool?: string; pooled?: boolean } = {}) => all<SeenConnection>(call, `${root}/connections`, "connections", query),
  keys: (query: { pool?: string; pooled?: boolean } = {}) => all<SeenKey>(call, `${root}/keys`, "keys", query),
});

/** The API behind a fetch. */
export function newApi(fetch: Fetch) {
  const call = newCall(fetch);
  return { session: identity(call), pools: pools(call), plans: plans(call), settings: settings(call), answers: answers(call), log: { ...log(call), failOpens: () => failOpens(fetch) } };
}

export type Api = ReturnType<typeof newApi>;
