import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const out = "dist";

/** Empties the folder but for its .gitignore, without which Go finds no file to embed. */
function emptied(): Plugin {
  return {
    name: "emptied",
    apply: "build",
    buildStart() {
      for (const name of readdirSync(out)) {
        if (name !== ".gitignore") rmSync(join(out, name), { recursive: true });
      }
    },
  };
}

/** Writes a compressed form beside every file, so that the server never compresses. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    closeBundle() {
      for (const name of readdirSync(out, { recursive: true, encoding: "utf8" })) {
        if (/\.(html|js|css|svg)$/.test(name)) {
          writeFileSync(join(out, `${name}.gz`), gzipSync(readFileSync(join(out, name)), { level: 9 }));
        }
      }
    },
  };
}

/** Where the engine listens while somebody works on the pages. */
const engine = process.env["QUOTA_ENGINE"] ?? "http://127.0.0.1:8480";

/** The name in Host stays what the browser calls: the engine compares it with Origin. */
const proxy = { "/api": { target: engine, changeOrigin: false }, "/metrics": { target: engine } };

export default defineConfig({
  plugins: [emptied(), compressed()],
  build: {
    outDir: out,
    emptyOutDir: false,
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"], // the first with light-dark()
    assetsInlineLimit: 0, // no data: addresses, the policy of the pages allows none
    modulePreload: { polyfill: false },
  },
  server: { host: "127.0.0.1", proxy },
  preview: { host: "127.0.0.1", proxy },
  test: { include: ["src/**/*.test.{ts,tsx}"], environment: "node" },
} as Parameters<typeof defineConfig>[0]);
