import { defineConfig } from "vitest/config";

/** What needs a browser and an engine: two files at a time, because each has both, and much of it is waiting. */
export default defineConfig({
  test: { include: ["e2e/**/*.test.ts"], environment: "node", maxWorkers: 2, testTimeout: 60_000, hookTimeout: 60_000 },
});
