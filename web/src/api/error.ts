import type { Fault } from "./types";

/** The codes the engine answers with, and two of our own for no answer and for one that is not the engine's. */
export type ErrorCode =
  | "undecodable" | "invalid" | "at-too-old" | "unauthorized" | "host-not-allowed" | "origin-not-allowed"
  | "role-not-allowed" | "key-not-allowed" | "not-found" | "method-not-allowed" | "timeout" | "conflict" | "lost-race" | "too-large" | "too-many"
  | "unsupported-media-type" | "internal" | "not-ready" | "unavailable" | "min-seq" | "stopping"
  | "too-many-streams" | "busy" | "unreachable" | "unreadable";

/** Why a call had no result. `message` is the engine's own and is shown as it is. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** The HTTP status; 0 when there was no answer. */
    readonly status = 0,
    readonly faults: readonly Fault[] = [],
    /** How long to wait before the next try, when the engine said so. */
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }

  /** The problem of one field, for the place where it is entered; "" when there is none. */
  problemOf(field: string): string {
    return this.faults.find((fault) => fault.field === field)?.problem ?? "";
  }
}

/** No answer came. */
export function unreachable(): ApiError {
  return new ApiError("unreachable", "the engine does not answer: is it running, and is the network there?");
}

interface Refusal {
  error: { code: ErrorCode; message: string; faults?: Fault[] };
}

function isRefusal(document: unknown): document is Refusal {
  if (typeof document !== "object" || document === null || !("error" in document)) return false;
  const { error } = document;
  return (
    typeof error === "object" && error !== null &&
    "code" in error && typeof error.code === "string" &&
    "message" in error && typeof error.message === "string"
  );
}

/** The error that an answer of 400 and above stands for; document is its body, undefined if it was no JSON. */
export function refusal(status: number, document: unknown, retryAfter: string | null): ApiError {
  const wait = /^\d+$/.test(retryAfter ?? "") ? Number(retryAfter) * 1000 : null;
  if (!isRefusal(document)) {
    const text = `something between this page and the engine answered ${status}, not the engine itself`;
    return new ApiError("unreadable", text, status, [], wait);
  }
  const { code, message, faults } = document.error;
  return new ApiError(code, message, status, faults ?? [], wait);
}
