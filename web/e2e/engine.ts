/** A real engine, in a folder of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What `make build` made, unless another is named. */
const program = process.env["QUOTASHARE"] ?? new URL("../../bin/quotashare", import.meta.url).pathname;

export interface Engine {
  /** "http://127.0.0.1:<port>" */
  readonly url: string;
  post(path: string, document: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts an engine that listens where there is room, and waits until it answers. */
export async function startEngine(): Promise<Engine> {
  const folder = await mkdtemp(join(tmpdir(), "quotashare-web-"));
  const child = spawn(program, [
    "up", "--data-dir", join(folder, "data"), "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--sync", "100ms", "--log-level", "error",
  ]);
  const url = await address(child);
  return {
    url,
    post: (path, document) => post(url + path, document),
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

/** Reads where it listens from what it says. */
function address(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const hear = (text: Buffer): void => {
      said += text.toString();
      const found = /https?:\/\/[\w.:[\]]+/.exec(said.slice(Math.max(0, said.indexOf("HTTP"))));
      if (said.includes("HTTP") && found) resolve(found[0]);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`the engine ended: ${said}`)));
  });
}

async function post(url: string, document: unknown): Promise<unknown> {
  const response = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(document) });
  const answer: unknown = await response.json();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${JSON.stringify(answer)}`);
  return answer;
}
