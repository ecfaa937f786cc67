import { expect, test } from "vitest";
import { nbsp } from "./amount";
import { percent, percentFigure, portion, shareWords } from "./percent";

const plain = (text: string): string => text.replaceAll(nbsp, " ");

test.each([
  [0, "0 %"], [33.333333, "33.3 %"], [99.96, "99.9 %"], [100, "100 %"], [132, "132 %"], [12345.6, "12,345.6 %"],
  ["0.000001", "under 0.1 %"], [-4.25, "−4.2 %"],
])("%s is %s", (value, want) => expect(plain(percentFigure(value))).toBe(want));

test("always says of what", () => {
  expect(plain(percent(132, "the limit"))).toBe("132 % of the limit");
  expect(percent(null, "the limit")).toBe("limit not known");
  expect(percent(null, "its share", "no share")).toBe("no share");
});

test.each([
  [1, 3, "33.3 % of its share"], [3, 1, "300 % of its share"], [1, null, "limit not known"], [1, 0, "limit not known"],
  [0, 3, "0 % of its share"], ["0.0001", 3, "under 0.1 % of its share"],
  [5, 999_999_990_000, "under 0.1 % of its share"], ["0.000000001", "9223372036854775.807", "under 0.1 % of its share"],
])("%s of %s", (part, whole, want) => expect(plain(portion(part, whole, "its share"))).toBe(want));

test.each([
  [{ consumed: 66, fairShare: 50 }, 100, "132 % of its share"], [{ consumed: 1, fairShare: 0 }, 100, "a share of nothing"],
  [{ consumed: 1, fairShare: null }, 100, "no share of its own"], [{ consumed: 1, fairShare: null }, null, "limit not known"],
])("%o of a limit of %s", (key, limit, want) => expect(plain(shareWords(key, limit))).toBe(want));
