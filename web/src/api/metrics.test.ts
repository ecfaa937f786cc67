import { expect, test } from "vitest";
import { failOpens, failOpensIn } from "./metrics";

const text = `# TYPE quotashare_degraded_total counter
quotashare_degraded_total{decision="allow",kind="lag"} 3
quotashare_degraded_total{decision="block",kind="lag"} 40
quotashare_degraded_total{decision="observe",kind="lag"} 500
quotashare_degraded_total{decision="allow",kind="no-hold"} 2
quotashare_other_total{decision="allow"} 7000
`;

test.each<[string, string, number | null]>([
  ["sums what was let pass", text, 5],
  ["is nothing when nothing was", 'quotashare_other_total{decision="allow"} 7', 0],
  ["is not known from a page", "<html></html>", null],
])("it %s", (_, of, want) => expect(failOpensIn(of)).toBe(want));

test("an engine that does not tell is no fault", async () => {
  expect(await failOpens(() => Promise.reject(new TypeError("no network")))).toBeNull();
  expect(await failOpens(() => Promise.resolve(new Response(text, { status: 401 })))).toBeNull();
  expect(await failOpens(() => Promise.resolve(new Response(text)))).toBe(5);
});
