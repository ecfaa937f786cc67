/** A decider whose log somebody else keeps, and can take away. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const engine = process.env["QUOTASHARE"] ?? new URL("../../bin/quotashare", import.meta.url).pathname;
const decider = join(dirname(engine), "decider");

export class FarDecider {
  private constructor(
    private readonly folder: string,
    private readonly keeper: ChildProcess,
    private readonly child: ChildProcess,
    /** "http://127.0.0.1:<port>" */
    readonly url: string,
  ) {}

  static async start(): Promise<FarDecider> {
    const folder = await mkdtemp(join(tmpdir(), "quotashare-far-"));
    const keeper = spawn(engine, ["up", "--data-dir", join(folder, "log"), "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--sync", "100ms", "--log-level", "error"]);
    const log = await heard(keeper, /(nats:\/\/\S+)/);
    const child = spawn(decider, ["--data-dir", join(folder, "state"), "--store-nats-url", log, "--http-addr", "127.0.0.1:0", "--log-level", "error"]);
    return new FarDecider(folder, keeper, child, await heard(child, /(http:\/\/\S+)/));
  }

  /** The log answers nothing any more, as behind a cable that is pulled. */
  logAway(): void {
    this.keeper.kill("SIGSTOP");
  }

  logBack(): void {
    this.keeper.kill("SIGCONT");
  }

  async stop(): Promise<void> {
    this.logBack();
    for (const child of [this.child, this.keeper]) {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
    }
    await rm(this.folder, { recursive: true });
  }
}

/** Waits for what a program says of itself at its start. */
function heard(child: ChildProcess, what: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const hear = (text: Buffer): void => {
      said += text.toString();
      const found = what.exec(said)?.[1];
      if (found) resolve(found);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`it ended: ${said}`)));
  });
}
