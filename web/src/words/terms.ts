/** What the words of the API mean, in those of people who share an account. */
import type {
  Binding, Degraded, Mode, OnDegraded, Policy, Reason, Rejection, Rule, Source, Unit, Window,
} from "../api/types";

const windows: Record<Window | "rate", string> = {
  hourly: "hour",
  "5h": "5 hours",
  daily: "day",
  weekly: "week",
  monthly: "30 days",
  rate: "short-term limit",
};

/** "hour", "5 hours", "day", "week", "30 days", to stand behind "per" or "in the last". */
export function windowName(window: Window | "rate"): string {
  return windows[window];
}

const adjectives: Record<Window | "rate", string> = {
  hourly: "hourly window",
  "5h": "5-hour window",
  daily: "daily window",
  weekly: "weekly window",
  monthly: "30-day window",
  rate: "short-term limit",
};

/** "5-hour window", to stand behind "the" or "the provider's". */
export function windowNoun(window: Window | "rate"): string {
  return adjectives[window];
}

/** What is counted over which time: "requests per hour", "the provider's 5-hour window". */
export function dimensionName({ unit, window }: { unit: Unit; window: Window }): string {
  if (unit === "percent") return `the provider's ${windowNoun(window)}`;
  return `${unit === "usd" ? "US dollars" : unit} per ${windowName(window)}`;
}

/** As dimensionName, to stand alone: "Requests per hour". */
export function dimensionTitle(d: { unit: Unit; window: Window }): string {
  const name = dimensionName(d).replace(/^the p/, "P");
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function bound(binding: Binding | undefined): string {
  if (!binding) return "what the pool may use";
  const name = dimensionName(binding);
  return binding.model === undefined ? name : `${name} with ${binding.model}`;
}

interface ReasonWords {
  /** A few words, for a tag. */
  readonly short: string;
  /** One sentence, for who asks why. */
  long(binding: Binding | undefined): string;
}

const reasons: Record<Reason, ReasonWords> = {
  ok: { short: "nothing stands against it", long: () => "Nothing stands against it." },
  "no-pool": {
    short: "in no pool",
    long: () => "The connection is in no pool, so nothing is limited here.",
  },
  off: { short: "pool is off", long: () => "The pool is switched off: usage is counted, and nothing is limited." },
  "no-allocation": {
    short: "no share of its own",
    long: () => "The key has no share of its own in this pool. It may use what the limit leaves.",
  },
  capacity: {
    short: "no free place",
    long: () => "Every connection has as many requests in flight as it may have at once.",
  },
  "fair-share": {
    short: "over its fair share",
    long: (b) => `The key has used more than its fair share of ${bound(b)}, and shares count now because the pool is busy.`,
  },
  "global-saturated": {
    short: "limit used up",
    long: (b) => `The limit on ${bound(b)} is used up by all keys together: the pool's, or that of the connection.`,
  },
  "cap-absolute": {
    short: "at its cap",
    long: (b) => `The key has reached the cap that was set for it on ${bound(b)}.`,
  },
  "model-cap": {
    short: "at its cap for the model",
    long: (b) => `The key has reached the cap that was set for this model alone: ${bound(b)}.`,
  },
  suspended: { short: "suspended", long: () => "The key is suspended in this pool until somebody lifts that." },
  degraded: {
    short: "engine is behind",
    long: () => "The engine could not be sure of its numbers, and this pool is set to stop then.",
  },
};

/** A few words: "over its fair share". */
export function reasonShort(reason: Reason): string {
  return reasons[reason].short;
}

/** One sentence: "The key has used more than its fair share of requests per hour, and …". */
export function reasonLong(reason: Reason, binding?: Binding): string {
  return reasons[reason].long(binding);
}

/** Whether a block for this reason ends when time passes, without anybody doing anything. */
export function endsByItself(reason: Reason): boolean {
  return reason !== "suspended";
}

const policies: Record<Policy, [name: string, meaning: string]> = {
  hard: ["hard", "stops at its fair share while shares count"],
  soft: ["soft", "goes on above its fair share, but after the others"],
  burst: ["burst", "goes on above its fair share as long as the limit lets it"],
};

/** "hard: stops at its fair share while shares count". */
export function policyMeaning(policy: Policy): string {
  return policies[policy].join(": ");
}

const modes: Record<Mode, [name: string, meaning: string]> = {
  enforce: ["Enforces", "blocks what is over its share or the limit"],
  observe: ["Observes", "lets everything pass, and notes what it would have blocked"],
  off: ["Off", "counts usage, and judges nothing"],
};

/** "Enforces", "Observes", "Off". */
export function modeName(mode: Mode): string {
  return modes[mode][0];
}

/** "blocks what is over its share or the limit". */
export function modeMeaning(mode: Mode): string {
  return modes[mode][1];
}

const rules: Record<Rule, string> = {
  threshold: "shares count once the pool is busy",
  guarantee: "of every key's share, what it can still use at its pace is kept free for it",
};

/** "by threshold". */
export function ruleName(rule: Rule): string {
  return `by ${rule}`;
}

/** "shares count once the pool is busy". */
export function ruleMeaning(rule: Rule): string {
  return rules[rule];
}

const whenDegraded: Record<OnDegraded, string> = {
  open: "lets requests pass when the engine cannot be sure",
  closed: "blocks requests when the engine cannot be sure",
};

/** What a pool does when the engine is behind. */
export function degradedMeaning(on: OnDegraded): string {
  return whenDegraded[on];
}

const degradations: Record<Degraded, string> = {
  lag: "the engine was behind the log",
  "min-seq": "an event that was asked for was not counted yet",
  "no-hold": "the request could not be held in time",
};

/** Why an answer may be off: "the engine was behind the log". */
export function degradedReason(d: Degraded): string {
  return degradations[d];
}

const sources: Record<Source, string> = {
  manual: "set by hand",
  catalogue: "from the provider's catalogue",
  none: "no plan",
};

/** Where a plan comes from. */
export function sourceName(source: Source): string {
  return sources[source];
}

const rejections: Record<Rejection, string> = {
  undecodable: "could not be read",
  invalid: "is no event: a field is missing or wrong",
  "id-conflict": "has the id of another event with other content",
  overflow: "is too large to be counted",
  "unknown-subject": "was sent to a subject that nobody reads",
  "ttl-not-allowed": "would have disappeared from the log, which is not allowed",
  "config-unmarked": "is a change of configuration that does not say which",
  "config-invalid": "is a change of configuration that is not valid",
};

/** What was wrong with an event: "could not be read". */
export function rejectionMeaning(r: Rejection): string {
  return rejections[r];
}
