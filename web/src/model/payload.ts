/** What was sent and could not be counted, as somebody can read it. */

export interface Payload {
  /** JSON, set out in lines; text; or bytes, that stand for no text. */
  readonly kind: "json" | "text" | "bytes";
  readonly text: string;
}

/** So many bytes are shown of what is no text: enough to tell what it is. */
const most = 512;

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}

/** "82 a7 61 …": sixteen in a line. */
function hex(bytes: Uint8Array): string {
  const pairs = Array.from(bytes.subarray(0, most), (byte) => byte.toString(16).padStart(2, "0"));
  const lines = Array.from({ length: Math.ceil(pairs.length / 16) }, (_, row) => pairs.slice(row * 16, row * 16 + 16).join(" "));
  return lines.join("\n") + (bytes.length > most ? "\n…" : "");
}

/** Text without characters that nobody can see; null when it is none. */
function textOf(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // Line ends and tabs are text, other controls are not.
    return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text) ? null : text;
  } catch {
    return null;
  }
}

/** Sets JSON out without reading its numbers: digits stay as they were sent. */
export function setOut(json: string): string {
  let depth = 0;
  const line = (): string => `\n${"  ".repeat(depth)}`;
  return json.replace(/"(?:[^"\\]|\\.)*"|[{[]\s*[}\]]|[{}[\],:]|\s+/g, (found) => {
    if (/^\s/.test(found)) return "";
    if (found.length > 1) return found.startsWith('"') ? found : found.replace(/\s/g, "");
    if (found === "{" || found === "[") return found + (depth++, line());
    if (found === "}" || found === "]") return (depth--, line()) + found;
    return found === "," ? found + line() : found === ":" ? ": " : found;
  });
}

/** Reads the base64 of the API. */
export function payload(base64: string): Payload {
  const bytes = bytesOf(base64);
  const text = textOf(bytes);
  if (text === null) return { kind: "bytes", text: hex(bytes) };
  try {
    JSON.parse(text);
    return { kind: "json", text: setOut(text) };
  } catch {
    return { kind: "text", text };
  }
}
