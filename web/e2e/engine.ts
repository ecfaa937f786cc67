/** A real engine, in a folder of its own. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";

const root = new URL("../..", import.meta.url).pathname;

/** What `make build` made, unless another is named. */
const program = process.env["QUOTASHARE"] ?? join(root, "bin/quotashare");

/** Where it says that it listens. */
interface Listening {
  /** "127.0.0.1:<port>" */
  readonly nats: string;
  /** "http://127.0.0.1:<port>" */
  readonly http: string;
}

/** How an engine is started that is not as it comes. */
export interface Setup {
  /** The address it listens on. */
  readonly host?: string;
  /** Further flags. */
  readonly flags?: readonly string[];
  /** What send presents. */
  readonly token?: string;
}

/** Runs a command of the program, and gives what it printed. */
export async function command(...args: string[]): Promise<string> {
  return (await promisify(execFile)(program, args)).stdout.trim();
}

const hour = 3_600_000;
/** How far ahead of its coming an event may be of, with a little for its way: the engine believes 2 minutes. */
const believed = 115_000;

/**
 * Requests of now, or, when the hour is about to end, of the first moment of the next. What was used in the hour before
 * counts less by the second, and tests compare whole sums: so they stay whole for two minutes at least. Other usage
 * keeps its place among the readings of its provider.
 */
function dated(document: unknown): unknown {
  if (Array.isArray(document)) return document.map(dated);
  const now = Date.now();
  const next = now - (now % hour) + hour;
  if (next - now > believed || typeof document !== "object" || document === null || "time" in document || "type" in document) return document;
  const cost = "cost" in document ? document.cost : undefined;
  return typeof cost === "object" && cost !== null && "requests" in cost ? { ...document, time: next } : document;
}

export class Engine {
  private constructor(
    private readonly folder: string,
    private child: ChildProcess,
    private listening: Listening,
    private readonly setup: Setup,
  ) {}

  /** Starts an engine that listens where there is room, and waits until it does. */
  static async start(setup: Setup = {}): Promise<Engine> {
    const folder = await mkdtemp(join(tmpdir(), "quotashare-web-"));
    const child = run(folder, `${setup.host ?? "127.0.0.1"}:0`, setup);
    return new Engine(folder, child, await answering(child), setup);
  }

  /** "http://127.0.0.1:<port>" */
  get url(): string {
    return this.listening.http;
  }

  /** Sends a document. more are headers, such as who changes something, and why. */
  async send(method: string, path: string, document: unknown, more: Record<string, string> = {}): Promise<unknown> {
    const token = this.setup.token;
    const headers = { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}), ...more };
    const response = await fetch(this.url + path, { method, headers, body: JSON.stringify(document) });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  }

  post(path: string, document: unknown): Promise<unknown> {
    return this.send("POST", path, path === "/api/quota/events" ? dated(document) : document);
  }

  /** Publishes as a gateway does that speaks NATS: with the client of the examples. */
  async publish(subject: string, document: unknown): Promise<void> {
    const env = { ...process.env, QUOTA_NATS_ADDR: this.listening.nats };
    await promisify(execFile)(process.execPath, [join(root, "examples/nats.mjs"), subject, JSON.stringify(dated(document))], { env });
  }

  /** Waits until everything is counted that was published. */
  async settled(): Promise<void> {
    const read = async (query: string): Promise<{ lastSeq: number }> => (await (await fetch(`${this.url}/api/quota/state${query}`)).json()) as { lastSeq: number };
    await read(`?minSeq=${(await read("")).lastSeq}`);
  }

  /** Stops it. What it has stays. */
  pause(): Promise<void> {
    return this.end("SIGTERM");
  }

  /** Ends it in the middle of whatever it does. */
  kill(): Promise<void> {
    return this.end("SIGKILL");
  }

  /** Starts it again where it was. */
  async resume(): Promise<void> {
    this.child = run(this.folder, new URL(this.url).host, this.setup);
    this.listening = await answering(this.child);
  }

  async stop(): Promise<void> {
    await this.pause();
    await rm(this.folder, { recursive: true });
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill(signal);
    await ended;
  }
}

function run(folder: string, http: string, { flags = [] }: Setup): ChildProcess {
  const where = ["--data-dir", join(folder, "data"), "--nats-addr", "127.0.0.1:0", "--http-addr", http];
  return spawn(program, ["up", ...where, "--sync", "100ms", "--log-level", "error", ...flags]);
}

/** Waits until it has caught up with its log: before that it says where it listens, and takes no change. */
async function answering(child: ChildProcess): Promise<Listening> {
  const listening = await heard(child);
  while (!(await fetch(`${listening.http}/readyz`)).ok) await wait(20);
  return listening;
}

/** Reads where it listens from what it says. */
function heard(child: ChildProcess): Promise<Listening> {
  return new Promise((resolve, reject) => {
    let said = "";
    const hear = (text: Buffer): void => {
      said += text.toString();
      const nats = /NATS\s+nats:\/\/(\S+)/.exec(said)?.[1];
      const http = /HTTP\s+(http:\/\/\S+)/.exec(said)?.[1];
      if (nats && http) resolve({ nats, http });
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("error", (error) => reject(new Error(`${program} does not start (make web build makes it): ${error.message}`)));
    child.once("exit", () => reject(new Error(`the engine ended: ${said}`)));
  });
}
