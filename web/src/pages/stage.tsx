/** For tests: a page with an engine that answers as the test says. */
import { type ComponentChild, render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, vi } from "vitest";
import { newSession, type Session, SessionProvider } from "../state/session";

/** A change, or a trial of one, that the page sent. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  /** The revision that it was to change, as in If-Match. */
  readonly match: string | undefined;
  /** Who and why, as in X-Quota-Actor and X-Quota-Reason. */
  readonly actor: string | undefined;
  readonly reason: string | undefined;
}

export interface Answer {
  readonly status?: number;
  readonly body: unknown;
}

export interface Stage {
  readonly root: HTMLElement;
  readonly session: Session;
  readonly sent: readonly Sent[];
  /** What the engine answers to changes and trials from now on. */
  answer(to: (of: Sent) => Answer): void;
  open(page: ComponentChild): Promise<void>;
  /** Waits until all that was asked is answered and shown. */
  settle(): Promise<void>;
  /** All that can be read, with plain spaces. */
  text(): string;
  /** The control that a label names; of several the one at that place. */
  control(label: string, place?: number): HTMLInputElement;
  type(label: string, text: string, place?: number): Promise<void>;
  press(name: string, place?: number): Promise<void>;
  /** Chooses one of a few options side by side. */
  choose(option: string): Promise<void>;
}

const answered = (read: unknown): Response => (read instanceof Response ? read : Response.json(read));

/** Sets the stage before each test; read answers what the page only reads: with a document, or a Response. */
export function pageStage(read: (path: string) => unknown): Stage {
  let root = document.body;
  let session: Session;
  let sent: Sent[] = [];
  let answering: (of: Sent) => Answer;
  beforeEach(() => {
    vi.useFakeTimers();
    root = document.createElement("div");
    document.body.replaceChildren(root);
    HTMLDialogElement.prototype.showModal ??= () => undefined;
    sent = [];
    session = newSession((url, init) => {
      const path = url.replace("/api/quota/", "");
      if (init.method === "GET" || path === "reach") return new Promise((answer) => answer(answered(read(path))));
      const headers = init.headers as Record<string, string>;
      const said = { match: headers["If-Match"], actor: headers["X-Quota-Actor"], reason: headers["X-Quota-Reason"] };
      const of = { method: init.method ?? "", path, body: JSON.parse(String(init.body ?? "null")) as unknown, ...said };
      sent.push(of);
      const { status = 200, body } = answering(of);
      return Promise.resolve(status === 204 ? new Response(null, { status }) : Response.json(body, { status }));
    });
  });
  afterEach(() => {
    act(() => render(null, root));
    vi.useRealTimers();
  });
  // Twice: what is read first may ask for more.
  const settle = async (): Promise<void> => {
    for (let round = 0; round < 2; round++) await act(() => vi.advanceTimersByTimeAsync(1_000).then(() => undefined));
  };
  const text = (): string => (root.textContent ?? "").replaceAll("\u00a0", " ");
  const control = (label: string, place = 0): HTMLInputElement => {
    const found = [...root.querySelectorAll("label")].filter((each) => each.textContent === label)[place];
    const input = document.getElementById(found?.htmlFor ?? "");
    if (!input) throw new Error(`${label} is not in ${text()}`);
    return input as HTMLInputElement;
  };
  return {
    get root() {
      return root;
    },
    get session() {
      return session;
    },
    get sent() {
      return sent;
    },
    answer: (to) => void (answering = to),
    async open(page) {
      act(() => render(<SessionProvider value={session}>{page}</SessionProvider>, root));
      await settle();
    },
    settle,
    text,
    control,
    async type(label, typed, place = 0) {
      act(() => {
        const input = control(label, place);
        input.value = typed;
        input.dispatchEvent(new Event("input", { bubbles: true }));
      });
      await settle();
    },
    async choose(option) {
      const radio = [...root.querySelectorAll("label")].find((each) => each.textContent === option)?.querySelector("input");
      if (!radio) throw new Error(`no option ${option} in ${text()}`);
      act(() => radio.click());
      await settle();
    },
    async press(name, place = 0) {
      const button = [...root.querySelectorAll("button")].filter((each) => each.textContent === name)[place];
      if (!button) throw new Error(`no button ${name} in ${text()}`);
      act(() => button.click());
      await settle();
    },
  };
}

/** An answer that refuses, in the form of the API. */
export function refused(status: number, code: string, message: string, faults: readonly { field: string; problem: string }[] = []): Answer {
  return { status, body: { error: { code, message, faults } } };
}
