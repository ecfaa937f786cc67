import { describe, expect, test } from "vitest";
import type { Pool } from "../api/types";
import { type AllocationDraft, appended, capField, documentOf, draftOf, type Draft, freshAllocation, newDraft, patchOf, replaced, without } from "./draft";

const pool: Pool = {
  id: "team", name: "Team", provider: "kimi", mode: "observe", rule: "guarantee", reserve: 50, onDegraded: "closed",
  connections: [{ connectionId: "k-1", weight: 100 }, { connectionId: "k-2", weight: 5, maxConcurrent: 3 }],
  connectionIds: ["k-1", "k-2"],
  allocations: [
    { apiKeyId: "ann", weight: 60.5, policy: "soft", caps: [{ unit: "usd", window: "daily", value: 20 }, { unit: "tokens", window: "hourly", value: "9007199254740993" }], capUnit: "requests", capValue: 7 },
    { apiKeyId: "*", weight: 39.5, policy: "hard", suspended: true },
  ],
  modelCaps: [{ apiKeyId: "ann", model: "k2", capUnit: "requests", capValue: 10 }],
  createdAt: "2026-09-21T14:00:00.000Z", revision: 7, enforcing: true, warnings: [],
};

describe("a draft", () => {
  test("that nobody changed is no change", () => expect(patchOf(pool, draftOf(pool))).toEqual({}));

  test("becomes the document it came from, with every digit as it was", () => {
    expect(documentOf(draftOf(pool))).toEqual({
      id: "team", name: "Team", provider: "kimi", mode: "observe", rule: "guarantee", reserve: "50", onDegraded: "closed",
      connections: [{ connectionId: "k-1" }, { connectionId: "k-2", weight: "5", maxConcurrent: "3" }],
      allocations: [
        { apiKeyId: "ann", weight: "60.5", policy: "soft", caps: [{ unit: "usd", window: "daily", value: "20" }, { unit: "tokens", window: "hourly", value: "9007199254740993" }], capUnit: "requests", capValue: "7" },
        { apiKeyId: "*", weight: "39.5", policy: "hard", suspended: true },
      ],
      modelCaps: [{ apiKeyId: "ann", model: "k2", capUnit: "requests", capValue: "10" }],
    });
  });

  test("sends what differs alone, and null for what was emptied", () => {
    const draft: Draft = { ...draftOf(pool), name: " ", mode: "enforce", id: "other" };
    expect(patchOf(pool, draft)).toEqual({ name: null, mode: "enforce" });
    expect(patchOf(pool, { ...draftOf(pool), rule: "threshold", reserve: "" })).toEqual({ rule: "threshold", reserve: null });
  });

  test("sends numbers as the engine reads them", () => {
    const [ann, rest] = draftOf(pool).allocations;
    if (!ann || !rest) throw new Error("there are two");
    const caps = [{ row: 1, unit: "usd", window: "daily", value: "$1,000.5" }, { row: 2, unit: "tokens", window: "every", value: "2 000" }] as const;
    const { allocations, modelCaps } = patchOf(pool, {
      ...draftOf(pool), allocations: [{ ...ann, caps }, rest], modelCaps: draftOf(pool).modelCaps.map((cap) => ({ ...cap, capValue: "1,500" })),
    });
    expect(allocations?.[0]).toMatchObject({ caps: [{ value: "1000.5" }], capValue: "2000" });
    expect(modelCaps).toMatchObject([{ capValue: "1500" }]);
  });

  test("what was left empty is not sent: the engine says that it is missing", () => {
    const { connections, allocations, ...rest } = documentOf(newDraft());
    expect(connections).toEqual([{}]);
    expect(allocations).toEqual([{ policy: "hard" }]);
    expect(rest).toEqual({ mode: "enforce", rule: "threshold", onDegraded: "open", modelCaps: [] });
  });
});

test("rows keep their number, and a new one has none that is in use", () => {
  const one: readonly AllocationDraft[] = appended<AllocationDraft>([], { ...freshAllocation, apiKeyId: "a" });
  const rows = appended(one, { ...freshAllocation, apiKeyId: "b" });
  const left = appended(without(rows, 1), { ...freshAllocation, apiKeyId: "c" });
  expect(left.map((each) => [each.row, each.apiKeyId])).toEqual([[2, "b"], [3, "c"]]);
  expect(replaced(left, 3, { apiKeyId: "d" }).map((each) => each.apiKeyId)).toEqual(["b", "d"]);
});

test("a cap is found where the engine names it", () => {
  const [ann] = draftOf(pool).allocations;
  if (!ann) throw new Error("ann has none");
  const moved = { ...ann, caps: [...ann.caps].reverse() };
  expect(moved.caps.map((cap) => capField(moved, 3, cap.row))).toEqual(["allocations[3].capValue", "allocations[3].caps[0]", "allocations[3].caps[1]"]);
});
