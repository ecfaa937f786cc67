import { expect, test } from "vitest";
import type { Pool, Usage, UsedDimension } from "../api/types";
import { steps, type StepName } from "./steps";

const pool = (mode: Pool["mode"]): Pool => ({ mode }) as Pool;
const dim = (change: Partial<UsedDimension>): UsedDimension => ({ unit: "requests", limit: null, consumedTotal: 0, heldTotal: 0, ...change }) as UsedDimension;
const usage = (change: Partial<Usage>): Usage => ({ enforcing: false, dimensions: [], signals: [], ...change }) as Usage;
const nothing = { events: false, asked: false };

test.each<[string, Pool["mode"], Usage | null, typeof nothing, StepName[]]>([
  ["nothing is known", "enforce", null, nothing, []],
  ["nothing was done", "off", usage({ dimensions: [dim({})] }), nothing, []],
  ["something is used", "off", usage({ dimensions: [dim({}), dim({ consumedTotal: 1 })] }), nothing, ["events"]],
  ["something was used", "off", usage({}), { events: true, asked: false }, ["events"]],
  ["the provider spoke", "off", usage({ signals: [{}] as Usage["signals"] }), nothing, ["readings"]],
  ["a request is under way", "off", usage({ dimensions: [dim({ heldTotal: 1 })] }), nothing, ["asked"]],
  ["a decision is on record", "off", usage({}), { events: false, asked: true }, ["asked"]],
  ["it observes nothing", "observe", usage({}), nothing, []],
  ["it observes", "observe", usage({ enforcing: true }), nothing, ["observed"]],
  ["it enforces", "enforce", usage({ enforcing: true }), nothing, ["observed", "enforced"]],
  ["it is off again", "off", usage({ enforcing: true }), nothing, []],
])("when %s", (_, mode, of, seen, want) => expect(steps(pool(mode), of, seen).filter((s) => s.done).map((s) => s.name)).toEqual(want));

test("readings can be left out where a plan has a limit", () => {
  const optional = (d: UsedDimension): boolean => steps(pool("enforce"), usage({ dimensions: [d] }), nothing)[1]?.optional ?? false;
  expect([optional(dim({ limit: 5 })), optional(dim({})), optional(dim({ unit: "percent", limit: 100 }))]).toEqual([true, false, false]);
});
