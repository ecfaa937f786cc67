import { expect, test } from "vitest";
import type { Explanation, Reply } from "../api/answers";
import type { Allocation, Pool } from "../api/types";
import { beforeAll } from "./gates";

const pool = (change: Partial<Pool> = {}): Pool => ({ id: "team", name: "Team", mode: "enforce", allocations: [{ apiKeyId: "ann", weight: 1, policy: "hard" }], ...change }) as Pool;
const of = (pool: Pool | null, reply: Partial<Reply> = {}): string[] =>
  beforeAll({ question: { apiKeyId: "ann" }, reply, rules: { pool } } as Explanation).map((step) => `${step.id}${step.decided ? "!" : ""}: ${step.figures}`);
const share = (change: Partial<Allocation>): Partial<Pool> => ({ allocations: [{ apiKeyId: "ann", weight: 1, policy: "hard", ...change }] });

test.each<[string, Pool | null, Partial<Reply>, string[]]>([
  ["a pool that enforces, and a key of its own", pool(), {}, []],
  ["no pool", null, { reason: "no-pool" }, ["pool!: in none"]],
  ["a pool that is off", pool({ mode: "off" }), { reason: "off" }, ["mode!: Team is off"]],
  ["a pool that observes", pool({ mode: "observe" }), { reason: "fair-share" }, ["mode: Team observes"]],
  ["a suspended key", pool(share({ suspended: true })), { reason: "suspended" }, ["suspended!: ann is suspended in Team"]],
  ["a key without a share", pool({ allocations: [] }), { reason: "no-allocation" }, ["allocation!: ann is not named in Team"]],
  ["a key of everyone else", pool(share({ apiKeyId: "*" })), { reason: "ok" }, ["allocation: ann is not named in Team"]],
  ["a place that is free", pool(), { reason: "ok", inFlight: 3, maxConcurrent: 4 }, ["place: 3 in flight, of 4 at once"]],
  ["no place", pool(), { reason: "capacity", inFlight: 4, maxConcurrent: 4 }, ["place!: 4 in flight, of 4 at once"]],
  ["no place on any of them", pool(), { reason: "capacity" }, ["place!: as many requests in flight as there may be"]],
  ["no bound", pool(), { reason: "ok", inFlight: 3 }, []],
])("%s", (_, pool, reply, want) => expect(of(pool, reply)).toEqual(want));

test("a full connection says no, and one place less says yes", () => {
  const tone = (inFlight: number) => beforeAll({ question: { apiKeyId: "ann" }, reply: { inFlight, maxConcurrent: 4 }, rules: { pool: pool() } } as Explanation)[0]?.tone;
  expect([tone(3), tone(4), tone(5)]).toEqual(["good", "bad", "bad"]);
});
