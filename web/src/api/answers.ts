/** What the API says of decisions: the answers themselves, why, and what if. */
import type { Amount } from "./json";
import type {
  AsOf, Binding, Decision, Degraded, NewPool, NewSettings, Plan, Pool, Reason, Rule, Settings, Signal, Strictness, Unit, Window,
} from "./types";

export interface Judged {
  unit: Unit;
  window: Window;
  limit: Amount | null;
  consumed: Amount;
  held: Amount;
  fairShare: Amount | null;
  remaining: Amount | null;
  consumedTotal: Amount;
  heldTotal: Amount;
  mode: Strictness;
  borrowing: boolean;
  deficit: Amount | null;
  providerUsed: Amount | null;
  resetAt?: string;
  observedAt?: string;
  attributed?: Amount;
  unattributed?: Amount;
  /** By the rule guarantee: what the key can still use whatever the others do, what is kept for others, and what is left for them when the pool is full. */
  promised?: Amount;
  kept?: Amount;
  headroom?: Amount;
  /** For whom, where it blocks: the most first, ten at most. */
  keptFor?: { apiKeyId: string; amount: Amount }[];
}

export interface Reply {
  decisionId: string;
  decision: Decision;
  reason: Reason;
  deprioritize: boolean;
  scoreFactor: number;
  httpStatus: 200 | 429 | 503;
  message?: string;
  retryAfterMs?: number;
  retryAt?: string;
  binding?: Binding;
  scope?: "key" | "connection" | "pool" | "model";
  alternatives?: string[];
  wouldBlock?: true;
  requestId?: string;
  asOf: AsOf;
  degraded?: Degraded[];
  detail?: string;
  connectionId?: string;
  candidates?: Candidate[];
  inFlight?: number;
  maxConcurrent?: number;
  dimensions?: Judged[];
}

export interface Candidate {
  connectionId: string;
  order: number;
  gate?: "blocked" | "saturated" | "capacity";
  inFlight: number;
  maxConcurrent?: number;
  score?: Amount;
}

export type Estimate = { [unit in Unit]?: Amount };

export interface Asked {
  apiKeyId: string;
  connectionId?: string;
  pool?: string;
  model?: string;
  estimate?: Estimate;
  requestId?: string;
  reserve?: true;
  leaseMs?: number;
  minSeq?: number;
  maxWaitMs?: number;
  explain?: true;
}

export interface RecordedDecision {
  decisionId: string;
  time: string;
  seq: number;
  index?: number;
  local?: true;
  count: number;
  decisionIds?: string[];
  /** Where each of `decisionIds` was given, in the same order. */
  answers?: { seq: number; index?: number; time: string; asOf?: string; lagMs?: number; requestId?: string }[];
  /** In an explanation of one of equal blocks: the first, whose reply was recorded. */
  replyOf?: string;
  connectionId?: string;
  poolId?: string;
  process: string;
  question: Asked;
  reply: Reply;
}

export interface DecisionFilter {
  apiKeyId?: string;
  connectionId?: string;
  poolId?: string;
  decision?: "block" | "would-block" | "allow";
  reason?: Reason;
  from?: string;
  to?: string;
  decisionId?: string;
  before?: string;
  limit?: number;
}

export interface DecisionPage {
  decisions: RecordedDecision[];
  /** The `before` of the next page; absent on the last. */
  next?: string;
}

/** Which question to explain: a recorded one, or one about a moment. */
export type ExplainQuestion =
  | { decisionId: string; top?: number }
  | {
      apiKeyId: string;
      connectionId?: string;
      pool?: string;
      model?: string;
      estimate?: Estimate;
      at?: string;
      seq?: number;
      top?: number;
    };

export interface ExplainedEvent {
  seq: number;
  index: number;
  id?: string;
  type: "quota.consumption" | "quota.adjustment";
  reason?: string;
  time: string;
  apiKeyId: string;
  connectionId: string;
  model?: string;
  requestId?: string;
  cost: Amount;
  /** By what of the event a provider's points are split. */
  splitBy?: { unit: Unit; cost: Amount };
  weight: Amount;
}

export interface ExplainedLine {
  unit: Unit;
  window: Window;
  model?: string;
  from: string;
  consumed: Amount | null;
  found: Amount;
  events: number;
  top: ExplainedEvent[];
  keys: { apiKeyId: string; consumed: Amount }[];
}

export interface ExplainedHold {
  apiKeyId: string;
  connectionId: string;
  model?: string;
  estimate: Estimate;
  endsAt: string;
}

export interface Explanation {
  question: Asked;
  reply: Reply;
  recorded?: RecordedDecision;
  differs?: string[];
  /** The log lacks messages, so that the recorded answer cannot be held to it. */
  unproved?: boolean;
  rules: { pool: Pool | null; plans: Plan[]; settings: Settings };
  signals: Signal[];
  holds: { open: number; top: ExplainedHold[] };
  consumption: ExplainedLine[];
  replay: { snapshot: number | null; seq: number; missing: number; missingFrom?: number; missingTo?: number };
  notes: string[];
}

/** Where in the log a what-if begins or ends. */
export type LogPlace = string | number | { seq: number };

export interface WhatIfQuestion {
  from?: LogPlace;
  to?: LogPlace;
  pools?: (NewPool | Pool)[];
  withoutPools?: string[];
  /** Pools that share in another way, and are as they were in all else. */
  rules?: { poolId: string; rule?: Rule; reserve?: Amount }[];
  plans?: { connectionId: string; dimensions?: { unit: Unit; window: Window; limit?: Amount | null }[] | null }[];
  settings?: NewSettings | null;
}

export interface WhatIfSide {
  allowed: number;
  blocked: number;
  wouldBlock: number;
  deprioritized: number;
  served: { [unit in Unit]?: Amount };
  reasons: { [reason in Reason]?: number };
}

export interface WhatIfChange {
  before: WhatIfSide;
  after: WhatIfSide;
  newlyBlocked: number;
  newlyAllowed: number;
}

export interface WhatIfBuckets {
  buckets: number;
  limit: Amount;
  used: Amount;
  unused: Amount;
  /** Of the unused, that of windows in which this limit blocked somebody. */
  withheld: Amount;
  /** Of the withheld, at most what was asked for. */
  wanted: Amount;
}

export interface WhatIfServed {
  apiKeyId: string;
  before: Amount;
  after: Amount;
  difference: Amount;
}

/** Who would have been served more of a unit, and who less, those with the largest difference first. */
export interface WhatIfShift {
  unit: Unit;
  more: WhatIfServed[];
  less: WhatIfServed[];
}

export interface WhatIfReport {
  from: { seq: number; time?: string };
  to: { seq: number; time?: string };
  keys: (WhatIfChange & { apiKeyId: string })[];
  total: WhatIfChange;
  shifts: WhatIfShift[];
  capacity: { poolId: string; unit: Unit; window: Window; before: WhatIfBuckets; after: WhatIfBuckets }[];
  asked: {
    consumptions: number;
    holds: number;
    blocks: number;
    degraded: number;
    unlike: number;
    waiting: { before: number; after: number };
  };
  replay: { snapshot: number; missing: number; missingFrom?: number; missingTo?: number };
  notes: string[];
}
