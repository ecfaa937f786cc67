/** A real engine, in a folder of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What `make build` made, unless another is named. */
const program = process.env["QUOTASHARE"] ?? new URL("../../bin/quotashare", import.meta.url).pathname;

export class Engine {
  private constructor(
    private readonly folder: string,
    private child: ChildProcess,
    /** "http://127.0.0.1:<port>" */
    readonly url: string,
  ) {}

  /** Starts an engine that listens where there is room, and waits until it does. */
  static async start(): Promise<Engine> {
    const folder = await mkdtemp(join(tmpdir(), "quotashare-web-"));
    const child = run(folder, "127.0.0.1:0");
    return new Engine(folder, child, await address(child));
  }

  async send(method: string, path: string, document: unknown): Promise<unknown> {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(this.url + path, { method, headers, body: JSON.stringify(document) });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  }

  post(path: string, document: unknown): Promise<unknown> {
    return this.send("POST", path, document);
  }

  /** Stops it. What it has stays. */
  async pause(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGTERM");
    await ended;
  }

  /** Starts it again where it was. */
  async resume(): Promise<void> {
    this.child = run(this.folder, new URL(this.url).host);
    await address(this.child);
  }

  async stop(): Promise<void> {
    await this.pause();
    await rm(this.folder, { recursive: true });
  }
}

function run(folder: string, http: string): ChildProcess {
  const where = ["--data-dir", join(folder, "data"), "--nats-addr", "127.0.0.1:0", "--http-addr", http];
  return spawn(program, ["up", ...where, "--sync", "100ms", "--log-level", "error"]);
}

/** Reads where it listens from what it says. */
function address(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const hear = (text: Buffer): void => {
      said += text.toString();
      const found = /HTTP\s+(http:\/\/\S+)/.exec(said)?.[1];
      if (found) resolve(found);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`the engine ended: ${said}`)));
  });
}
