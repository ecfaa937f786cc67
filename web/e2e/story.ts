/** Some days of a team whose people share accounts at four providers, for pictures of every page. */
import type { Engine } from "./engine";

const minute = 60_000;
const hour = 60 * minute;

const pools = [
  {
    id: "claude-product", name: "Claude, product team", provider: "claude", connectionIds: ["claude-max-berlin"],
    allocations: [
      { apiKeyId: "lena", weight: 30, policy: "hard" },
      { apiKeyId: "marco", weight: 30, policy: "hard" },
      { apiKeyId: "priya", weight: 25, policy: "soft" },
      { apiKeyId: "support-bot", weight: 15, policy: "burst" },
    ],
  },
  {
    id: "codex-backend", name: "Codex, backend", provider: "codex", connectionIds: ["codex-pro-1", "codex-pro-2"],
    allocations: [
      { apiKeyId: "jonas", weight: 40, policy: "soft" },
      { apiKeyId: "aiko", weight: 40, policy: "soft" },
      { apiKeyId: "nightly-ci", weight: 20, policy: "hard" },
    ],
  },
  {
    id: "kimi-shared", name: "Kimi for everyone", provider: "kimi", connectionIds: ["kimi-1", "kimi-2"],
    allocations: [
      { apiKeyId: "data-team", weight: 40, policy: "burst" },
      { apiKeyId: "nightly-ci", weight: 20, policy: "hard" },
      { apiKeyId: "docs-search", weight: 30, policy: "soft" },
      { apiKeyId: "*", weight: 10, policy: "hard" },
    ],
  },
  {
    id: "openai-reports", name: "OpenAI, reports", provider: "openai", mode: "observe", connectionIds: ["openai-finance"],
    allocations: [
      { apiKeyId: "quarterly-reports", weight: 60, policy: "hard", caps: [{ unit: "usd", window: "daily", value: 40 }] },
      { apiKeyId: "invoice-reader", weight: 40, policy: "soft" },
    ],
  },
];

const openaiPlan = { dimensions: [{ unit: "usd", window: "daily", limit: 60 }, { unit: "tokens", window: "daily", limit: 11_000_000 }] };

interface Event {
  readonly type: "quota.consumption" | "quota.saturation";
  readonly time: number;
  readonly [field: string]: unknown;
}

/** What somebody sends: busy and quiet by turns, and the same in every run. */
interface Habit {
  readonly apiKeyId: string;
  readonly connectionId: string;
  readonly model: string;
  /** Tokens of five busy minutes. */
  readonly tokens: number;
  /** From one busy time to the next, in units of five minutes. */
  readonly period: number;
  /** US dollars of a million tokens; 0 where nobody pays by tokens. */
  readonly price: number;
}

const habit = (apiKeyId: string, connectionId: string, model: string, tokens: number, period: number, price = 0): Habit => ({ apiKeyId, connectionId, model, tokens, period, price });

const habits = [
  habit("lena", "claude-max-berlin", "claude-opus-4", 46_000, 9),
  habit("marco", "claude-max-berlin", "claude-opus-4", 118_000, 7),
  habit("priya", "claude-max-berlin", "claude-sonnet-4", 87_000, 11),
  habit("support-bot", "claude-max-berlin", "claude-haiku-4", 21_000, 5),
  habit("jonas", "codex-pro-1", "gpt-5-codex", 64_000, 8),
  habit("aiko", "codex-pro-2", "gpt-5-codex", 38_000, 10),
  habit("nightly-ci", "codex-pro-1", "gpt-5-codex", 9_000, 13),
  habit("data-team", "kimi-1", "kimi-k2", 500_000, 6),
  habit("docs-search", "kimi-2", "kimi-k2", 330_000, 4),
  habit("nightly-ci", "kimi-2", "kimi-k2", 580_000, 12),
  habit("hackathon-7", "kimi-1", "kimi-k2", 19_000, 14),
  habit("quarterly-reports", "openai-finance", "gpt-5", 62_000, 9, 7.5),
  habit("invoice-reader", "openai-finance", "gpt-5-mini", 94_000, 6, 1.25),
] as const;

/** How far apart events stand, by how long ago they were: the charts of the last hour are by the minute. */
const gap = (ago: number): number => (ago > 25 * hour ? 15 * minute : ago > hour ? 5 * minute : minute);

/** The story begins as long ago. Nobody works by night. */
const told = 106 * hour;

interface Step {
  readonly time: number;
  readonly gap: number;
}

/** The oldest first. */
function stepsUntil(now: number): Step[] {
  const steps: Step[] = [];
  for (let ago = told; ago >= 0; ago -= gap(ago)) if (ago % (24 * hour) < 9 * hour) steps.push({ time: now - ago - 20_000, gap: gap(ago) });
  return steps;
}

/** Between 0 and 1, and nothing like the one before it. */
const mixed = (n: number): number => (Math.imul(n + 1, 2_654_435_761) >>> 0) / 2 ** 32;

const wave = (n: number, period: number): number => 0.55 + 0.45 * Math.sin((2 * Math.PI * n) / period);

function consumption(h: Habit, n: number, { time, gap }: Step, now: number): Event {
  const often = gap / (5 * minute);
  const tokens = Math.round(h.tokens * often * wave((now - time) / (5 * minute), h.period) * (0.6 + 0.8 * mixed(n * h.period)));
  const usd = Number(((tokens * h.price) / 1e6).toFixed(4));
  const cost = { requests: Math.max(1, Math.round(tokens / 6_000)), tokens, ...(usd > 0 && { usd }) };
  return { type: "quota.consumption", id: `${h.apiKeyId}-${h.connectionId}-${n}`, time, apiKeyId: h.apiKeyId, connectionId: h.connectionId, model: h.model, cost };
}

const seconds = (ms: number): string => String(Math.round(ms / 1000));

/** A window as its provider tells of it. */
interface Told {
  /** In points of 100. */
  readonly used: number;
  readonly reset: number;
}

/** The headers of an answer of Claude: parts of 1 used, and when they begin anew. */
const claude = (time: number, five: Told, week: Told): Event => ({
  type: "quota.saturation", connectionId: "claude-max-berlin", time, status: 200,
  headers: {
    "anthropic-ratelimit-unified-status": "allowed",
    "anthropic-ratelimit-unified-5h-utilization": (five.used / 100).toFixed(2), "anthropic-ratelimit-unified-5h-reset": seconds(five.reset),
    "anthropic-ratelimit-unified-7d-utilization": (week.used / 100).toFixed(2), "anthropic-ratelimit-unified-7d-reset": seconds(week.reset),
  },
});

/** The headers of an answer of Codex: points of 100. */
const codex = (connectionId: string, time: number, five: Told, week: Told): Event => ({
  type: "quota.saturation", connectionId, time, status: 200,
  headers: {
    "x-codex-primary-used-percent": String(Math.round(five.used)), "x-codex-primary-window-minutes": "300", "x-codex-primary-reset-at": seconds(five.reset),
    "x-codex-secondary-used-percent": String(Math.round(week.used)), "x-codex-secondary-window-minutes": "10080", "x-codex-secondary-reset-at": seconds(week.reset),
  },
});

/** How full the window is at an instant that lasts until left from now, when it has reached most by then; those before it, at the same pace. */
function fiveHours(time: number, now: number, left: number, most: number): Told {
  const length = 5 * hour;
  const start = now + left - length;
  const since = (((time - start) % length) + length) % length;
  return { used: (most * since) / (now - start), reset: time - since + length };
}

/** A week that began with the story, and has reached most by now. */
const week = (time: number, now: number, most: number): Told => ({ used: (most * (time - (now - told))) / told, reset: now - told + 7 * 24 * hour });

const readings = (time: number, now: number): Event[] => [
  claude(time, fiveHours(time, now, 83 * minute, 81), week(time, now, 46)),
  codex("codex-pro-1", time, fiveHours(time, now, 143 * minute, 58), week(time, now, 38)),
  codex("codex-pro-2", time, fiveHours(time, now, 203 * minute, 24), week(time, now, 14)),
];

/** Everything that happened until now, in its order. */
function days(now: number): Event[] {
  const steps = stepsUntil(now);
  return steps.flatMap((step, n) => [
    ...(n % 3 === 0 ? readings(step.time - 15_000, now) : []),
    ...habits.map((h) => consumption(h, n, step, now)).map((event, i) => ({ ...event, time: event.time - (habits.length - i) * 1_000 })),
    ...(n === steps.length - 1 ? readings(step.time + 10_000, now) : []),
  ]);
}

/** What the gateways asked last; what is blocked is in the list of decisions. */
const questions = [
  ["lena", "claude-max-berlin"], ["marco", "claude-max-berlin"], ["priya", "claude-max-berlin"], ["support-bot", "claude-max-berlin"],
  ["jonas", "codex-pro-1"], ["aiko", "codex-pro-2"], ["nightly-ci", "kimi-2"], ["docs-search", "kimi-2"], ["quarterly-reports", "openai-finance"], ["hackathon-7", "kimi-1"],
] as const;

/** Tells an engine the days of the team, up to this moment. */
export async function tell(engine: Engine): Promise<void> {
  const by = (actor: string, reason: string) => ({ "X-Quota-Actor": actor, "X-Quota-Reason": reason });
  await engine.send("POST", "/api/quota/pools", pools, by("lena", "the accounts of the third quarter"));
  await engine.send("PUT", "/api/quota/plans/openai-finance", openaiPlan, by("priya", "what finance has agreed to"));
  await engine.send("PUT", "/api/quota/settings", { decisionSampleRate: 1 }, by("jonas", "to see what is let pass, too"));
  const events = days(Date.now());
  for (let from = 0; from < events.length; from += 500) await engine.post("/api/quota/events", events.slice(from, from + 500));
  // Two that cannot be counted: one is known with another content, one means nothing.
  await engine.publish("quota.consumption", { id: "docs-search-kimi-2-80", apiKeyId: "docs-search", connectionId: "kimi-2", cost: { tokens: 1 } });
  await engine.publish("quota.consumption", { apiKeyId: "docs-search", connectionId: "kimi-2", cost: { token: 900 } });
  await engine.settled();
  for (const [apiKeyId, connectionId] of questions) await engine.post("/api/quota/decide", { apiKeyId, connectionId, estimate: { requests: 2 } });
}
