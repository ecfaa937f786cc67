import { expect, test } from "vitest";
import { bucketsOf } from "./buckets";

const at = (time: string): number => Date.parse(`2026-09-21T${time}Z`);
const hourly = { window: "hourly", from: "2026-09-21T13:00:00.000Z" } as const;

test.each([
  ["14:00:00.000", 3_600_000, "100"],
  ["14:15:00.000", 2_700_000, "75"],
  ["14:59:59.999", 1, "0"],
  ["14:59:00.000", 60_000, "1.6666"],
])("at %s %i ms of the older hour are left, %s %", (time, left, percent) =>
  expect(bucketsOf(hourly, at(time))).toEqual({ full: at("14:00:00"), width: 3_600_000, left, percent }));

test.each([
  ["a cycle that began within the hour", { window: "hourly", from: "2026-09-21T13:20:00.000Z" } as const, "14:30:00"],
  ["a cycle that began at the hour", { window: "hourly", from: "2026-09-21T14:00:00.000Z" } as const, "14:30:00"],
  ["what is over", hourly, "15:00:00"],
])("%s has no older part", (_, line, time) => expect(bucketsOf(line, at(time))).toBeNull());
