/** Server-sent events, read from text that comes in pieces. */

export interface StreamEvent {
  /** The name of the event. */
  readonly event: string;
  /** The id to go on from after this event: its own, or the last one before. */
  readonly id: string;
  readonly data: string;
}

/**
 * Returns a function that takes the next piece of a stream, and calls `on` for
 * every event that is whole. An event that the stream breaks off in is dropped,
 * as the standard says: it comes again after the id before it.
 */
export function newReader(on: (event: StreamEvent) => void): (piece: string) => void {
  let rest = "";
  let event = "";
  let id = "";
  let data: string[] = [];

  const line = (text: string): void => {
    if (text === "") {
      if (data.length > 0) on({ event: event || "message", id, data: data.join("\n") });
      event = "";
      data = [];
      return;
    }
    const colon = text.indexOf(":");
    const name = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(colon + 1).replace(/^ /, "");
    if (name === "event") event = value;
    if (name === "data") data.push(value);
    if (name === "id") id = value;
  };

  return (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) line(text.endsWith("\r") ? text.slice(0, -1) : text);
  };
}
