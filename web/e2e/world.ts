/** Pools, keys and usage as a small company has them. */
import type { Engine } from "./engine";

const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();

const pools = [
  {
    id: "kimi-team", name: "Kimi for the team", provider: "kimi", connectionIds: ["kimi-berlin", "kimi-lisbon"],
    allocations: [
      { apiKeyId: "nina-laptop", weight: 40, policy: "soft" },
      { apiKeyId: "ci-runner", weight: 20, policy: "hard" },
      { apiKeyId: "search-service", weight: 30, policy: "burst" },
      { apiKeyId: "*", weight: 10, policy: "hard" },
    ],
  },
  {
    id: "codex", name: "Codex subscription", provider: "codex", connectionIds: ["codex-pro"],
    allocations: [
      { apiKeyId: "tomasz", weight: 50, policy: "hard" },
      { apiKeyId: "amelie", weight: 50, policy: "hard" },
    ],
  },
  {
    id: "reports", name: "Nightly reports", provider: "openai", mode: "observe", connectionIds: ["openai-reports"],
    allocations: [
      { apiKeyId: "quarterly-report-builder", weight: 60, policy: "hard", caps: [{ unit: "usd", window: "daily", value: 20 }] },
      { apiKeyId: "summaries", weight: 40, policy: "soft" },
    ],
  },
  {
    id: "night", name: "Night batch", provider: "kimi", connectionIds: ["kimi-night"],
    allocations: [
      { apiKeyId: "translation-batch", weight: 70, policy: "soft" },
      { apiKeyId: "embedding-refresh-for-the-product-catalogue", weight: 30, policy: "burst" },
    ],
  },
  { id: "trial", name: "GLM trial", provider: "glm", connectionIds: ["glm-trial"], allocations: [{ apiKeyId: "amelie", weight: 100, policy: "soft" }] },
];

const used = (apiKeyId: string, connectionId: string, cost: Record<string, number>) => ({ apiKeyId, connectionId, cost });

const events = [
  used("nina-laptop", "kimi-berlin", { requests: 610, tokens: 1_840_000 }),
  used("nina-laptop", "kimi-lisbon", { requests: 212, tokens: 701_250 }),
  used("ci-runner", "kimi-berlin", { requests: 704, tokens: 988_000 }),
  used("search-service", "kimi-lisbon", { requests: 388, tokens: 402_100 }),
  used("intern-notebook", "kimi-lisbon", { requests: 57, tokens: 91_000 }),
  used("quarterly-report-builder", "openai-reports", { requests: 44, tokens: 2_400_000, usd: 23.481 }),
  used("summaries", "openai-reports", { requests: 120, tokens: 610_000, usd: 4.07 }),
  used("translation-batch", "kimi-night", { requests: 1_402, tokens: 9_120_000 }),
  used("embedding-refresh-for-the-product-catalogue", "kimi-night", { requests: 578, tokens: 1_250_000 }),
  used("amelie", "glm-trial", { requests: 9, tokens: 48_290 }),
];

const reading = (five: number, week: number) => ({
  type: "quota.saturation", connectionId: "codex-pro",
  readings: [
    { window: "5h", usedPercent: five, resetAt: inHours(2.25) },
    { window: "weekly", usedPercent: week, resetAt: inHours(71) },
  ],
});

/** Fills an engine: five pools, six hours into a working day. */
export async function fill(engine: Engine): Promise<void> {
  await engine.post("/api/quota/pools", pools);
  await engine.send("PUT", "/api/quota/plans/openai-reports", {
    dimensions: [{ unit: "usd", window: "daily", limit: 40 }, { unit: "tokens", window: "daily", limit: 5_000_000 }],
  });
  await engine.post("/api/quota/events", events);
  await engine.post("/api/quota/events", [reading(0, 41)]);
  await engine.post("/api/quota/events", [used("tomasz", "codex-pro", { tokens: 120_000 }), used("amelie", "codex-pro", { tokens: 48_000 })]);
  await engine.post("/api/quota/events", [reading(72, 58)]);
}

/** Fifty pools of forty keys, all of which have used something. */
export async function fillLarge(engine: Engine): Promise<void> {
  const ids = (n: number, name: string): string[] => Array.from({ length: n }, (_, i) => `${name}-${String(i + 1).padStart(2, "0")}`);
  const keys = ids(40, "key");
  const many = ids(50, "pool").map((id) => ({
    id, name: `Pool ${id}`, provider: "kimi", connectionIds: [`${id}-account`],
    allocations: keys.map((apiKeyId) => ({ apiKeyId, weight: 2.5, policy: "soft" })),
  }));
  await engine.post("/api/quota/pools", many);
  await engine.post("/api/quota/events", many.flatMap((pool) => keys.map((key, i) => used(key, `${pool.id}-account`, { requests: 5 + i }))));
}
