import { defineConfig } from "vitest/config";

/** What needs a browser and an engine: one file after the other, because each has both. */
export default defineConfig({
  test: { include: ["e2e/**/*.test.ts"], environment: "node", fileParallelism: false, testTimeout: 60_000, hookTimeout: 60_000 },
});
