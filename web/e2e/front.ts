/** The built pages in front of an engine, under the policy that the server of the pages has. */
import { readFileSync } from "node:fs";
import { preview } from "vite";

const root = new URL("..", import.meta.url).pathname;

/** The policy as handler.go has it: there is no second copy that could be another. */
function policy(): string {
  const source = readFileSync(`${root}/handler.go`, "utf8");
  const constant = /const policy = ([^\n]*\+\n[^\n]*)/.exec(source)?.[1];
  if (!constant) throw new Error("handler.go has no policy");
  return [...constant.matchAll(/"([^"]*)"/g)].map((part) => part[1]).join("");
}

export interface Front {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startFront(engine: string): Promise<Front> {
  const server = await preview({
    root,
    logLevel: "error",
    preview: { port: 0, host: "127.0.0.1", headers: { "Content-Security-Policy": policy() }, proxy: { "/api": { target: engine, changeOrigin: false }, "/metrics": { target: engine } } },
  });
  const url = server.resolvedUrls?.local[0];
  if (!url) throw new Error("the pages are served nowhere");
  return { url, stop: () => server.close() };
}
