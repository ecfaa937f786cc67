/**
 * The documents of the HTTP API, as /api/openapi.json describes them. Times are
 * RFC 3339 in UTC, lengths of time are milliseconds, null is "not known".
 */
import type { Amount } from "./json";

export type Unit = "requests" | "tokens" | "usd" | "percent";
export type Window = "hourly" | "5h" | "daily" | "weekly" | "monthly";
export type Mode = "enforce" | "observe" | "off";
export type Rule = "threshold" | "guarantee";
export type OnDegraded = "open" | "closed";
export type Policy = "hard" | "soft" | "burst";
export type Source = "manual" | "catalogue" | "none";
export type Decision = "allow" | "block";
export type Strictness = "strict" | "generous" | "guarantee";
export type Degraded = "lag" | "min-seq" | "no-hold";
export type Reason =
  | "ok" | "no-pool" | "off" | "no-allocation" | "capacity" | "fair-share"
  | "global-saturated" | "cap-absolute" | "model-cap" | "suspended" | "degraded";
export type Rejection =
  | "undecodable" | "invalid" | "id-conflict" | "overflow" | "unknown-subject"
  | "ttl-not-allowed" | "config-unmarked" | "config-invalid";

/** What is wrong with one field: the field is the subject of the problem's sentence. */
export interface Fault {
  field: string;
  problem: string;
}

export interface AsOf {
  seq: number;
  time: string;
  lagMs: number;
}

export interface Binding {
  unit: Unit;
  window: Window;
  model?: string;
}

/** Who changed a document last, and why. */
interface Stamp {
  revision: number;
  updatedAt?: string;
  actor?: string;
  reason?: string;
}

export interface PoolConnection {
  connectionId: string;
  weight: number;
  maxConcurrent?: number;
}

export interface Cap {
  unit: Unit;
  window: Window;
  value: Amount;
}

export interface Allocation {
  apiKeyId: string;
  weight: number;
  policy: Policy;
  suspended?: true;
  caps?: Cap[];
  capUnit?: Unit;
  capValue?: Amount;
}

export interface ModelCap {
  apiKeyId: string;
  model: string;
  capUnit: Unit;
  capValue: Amount;
}

export interface Pool extends Stamp {
  id: string;
  name: string;
  provider: string;
  mode: Mode;
  rule: Rule;
  reserve: number;
  onDegraded: OnDegraded;
  connections: PoolConnection[];
  connectionIds: string[];
  allocations: Allocation[];
  modelCaps: ModelCap[];
  createdAt: string;
  enforcing: boolean;
  warnings: Fault[];
}

/** What is sent to create a pool; what is left out has its default. */
export interface NewPool {
  id?: string;
  name: string;
  provider: string;
  mode?: Mode;
  rule?: Rule;
  reserve?: Amount;
  onDegraded?: OnDegraded;
  /** Numbers may be sent as text: so what somebody typed is judged by the engine alone. */
  connections: { connectionId: string; weight?: Amount; maxConcurrent?: Amount }[];
  allocations?: NewAllocation[];
  modelCaps?: ModelCap[];
}

export interface NewAllocation {
  apiKeyId: string;
  weight?: Amount;
  policy?: Policy;
  suspended?: boolean;
  caps?: Cap[];
  capUnit?: Unit;
  capValue?: Amount;
}

/** A merge patch of a pool: what is absent stays, null restores the default. */
export type PoolPatch = { [field in keyof NewPool]?: NewPool[field] | null };

/** A key that a change would block or free. */
export interface Effect {
  poolId: string;
  apiKeyId: string;
  reason: Reason;
  binding?: Binding;
  retryAfterMs: number | null;
}

/** What a change would do, found out without making it. */
export interface Trial {
  dryRun: true;
  blocked: Effect[];
  freed: Effect[];
}

export interface Dimension {
  unit: Unit;
  window: Window;
  limit: Amount;
}

export interface Plan extends Stamp {
  connectionId: string;
  provider: string;
  poolId: string | null;
  dimensions: Dimension[];
  source: Source;
  warnings: Fault[];
}

export interface CatalogueEntry {
  provider: string;
  aliases: string[];
  dimensions: Dimension[];
}

export interface Plans {
  plans: Plan[];
  total: number;
  catalogue: CatalogueEntry[];
}

export type SettingName =
  | "saturationThreshold" | "softDeprioritizeFactor" | "consumptionRetentionDays"
  | "signalTtlMs" | "holdTtlMs" | "decisionSampleRate" | "maxLagMs";

export interface Setting {
  value: number;
  source: "default" | "stored" | "environment";
  from?: string;
  default: number;
}

export type Settings = Record<SettingName, Setting> & Stamp;
export type NewSettings = { [name in SettingName]?: Amount | null };

export interface ConnectionUse {
  connectionId: string;
  limit: Amount | null;
  consumedTotal: Amount;
  providerUsed: Amount | null;
  resetAt: string | null;
  observedAt: string | null;
  attributed: Amount | null;
  unattributed: Amount | null;
}

export interface KeyUse {
  apiKeyId: string;
  allocation: string | null;
  consumed: Amount;
  held: Amount;
  fairShare: Amount | null;
  deficit: Amount | null;
  borrowing: boolean;
  remaining: Amount | null;
  /** By the rule guarantee, of a key with a share of its own: what it can still use whatever the others do. */
  promised?: Amount;
  burnRate: { perSecond: Amount };
}

export interface UsedDimension {
  unit: Unit;
  window: Window;
  limit: Amount | null;
  consumedTotal: Amount;
  heldTotal: Amount;
  usedPercent: Amount | null;
  mode: Strictness;
  strictAt: Amount | null;
  /** By the rule guarantee: what is kept for all keys together, and when nothing of it is any more. */
  kept?: Amount;
  keptUntil?: string;
  unlisted: Amount;
  perConnection: ConnectionUse[];
  perKey: KeyUse[];
  burnRate: { perSecond: Amount; timeToExhaustionMs: number | null };
}

export interface Signal {
  connectionId: string;
  window: Window | "rate";
  scope?: string;
  usedPercent: Amount | null;
  resetAt: string | null;
  observedAt: string;
  attributed: Amount | null;
  unattributed: Amount | null;
  drift: Amount | null;
  signal: "fresh" | "none";
}

export interface KeyVerdict {
  apiKeyId: string;
  allocation: string | null;
  decision: Decision;
  reason: Reason;
  /** Of a block by the rule guarantee. */
  detail?: "reserved" | "yield";
  deprioritize: boolean;
  wouldBlock?: true;
  retryAt: string | null;
}

/** How far a key could come under one rule, alone, in a window that begins with nothing used. */
export interface Reached {
  atOnce: Amount;
  byEnd: Amount;
}

export interface Reach {
  dimensions: {
    unit: Unit;
    window: Window;
    limit: Amount | null;
    perKey: { apiKeyId: string; fairShare: Amount; threshold: Reached; guarantee: Reached }[];
  }[];
  /** How many allocations there are, shown or not. */
  total: number;
}

export interface Usage {
  poolId: string;
  generatedAt: string;
  asOf: AsOf;
  mode: Mode;
  enforcing: boolean;
  dimensions: UsedDimension[];
  signals: Signal[];
  connections: { connectionId: string; inFlight: number; maxConcurrent: number | null }[];
  backlog: { waiting: number; keys: { apiKeyId: string; waiting: number; since: string }[] };
  keys: KeyVerdict[];
  unlistedKeys: number;
  burnRate: { tokensPerSecond: Amount; timeToExhaustionMs: number | null };
}

export type Amounts = Record<Unit, Amount>;

export interface HistoryRow {
  time: string;
  total: Amounts;
  adjusted?: Partial<Amounts>;
  perKey: (Amounts & { apiKeyId: string })[];
  unlisted: Amounts;
}

export interface History {
  poolId: string;
  from: string;
  to: string;
  stepMs: number;
  rows: HistoryRow[];
}

export interface SeenConnection {
  connectionId: string;
  provider: string;
  poolId: string | null;
  source: Source;
  lastEventAt: string | null;
  keys: number;
}

export interface SeenKey {
  apiKeyId: string;
  lastEventAt: string | null;
  pools: { poolId: string; allocation: string | null }[];
  connections: number;
  outside: boolean;
}

export interface Counts {
  folded: number;
  duplicates: number;
  rejected: number;
  late: number;
  clamped: number;
}

export interface State {
  appliedSeq: number;
  lastSeq: number;
  lagMs: number;
  counts: Counts;
  /** The first instant that can be explained; absent when none can, and on the stream. */
  replayFrom?: string;
}

export interface Change {
  seq: number;
  time: string;
  kind?: "pool" | "plan" | "settings";
  subject?: string;
  id?: string;
  change?: "put" | "delete";
  actor?: string;
  reason?: string;
  document?: unknown;
  rejected?: { reason: Rejection; message: string };
}

export interface Rejected {
  seq: number;
  index: number;
  subject: string;
  reason: Rejection;
  message: string;
  time: string;
  headers: Record<string, string[]>;
  /** Base64 of what was sent, or of its beginning. */
  data: string;
  truncated?: true;
}

export interface RejectedFilter {
  reason?: Rejection;
  /** In subject, message, or what was sent. */
  text?: string;
  before?: number;
  limit?: number;
}

export interface RejectedPage {
  rejected: Rejected[];
  /** How many are kept, wanted or not. */
  total: number;
  /** The `before` of the next page; absent on the last. A page may be empty and not the last. */
  next?: number;
}

/** What one key was blocked for, how often within one second. */
export interface Blocked {
  seq: number;
  time: string;
  apiKeyId: string;
  connectionId?: string;
  poolId?: string;
  model?: string;
  reason: Reason;
  binding?: Binding;
  retryAt?: string;
  decisionId: string;
  count: number;
  wouldBlock?: true;
}
