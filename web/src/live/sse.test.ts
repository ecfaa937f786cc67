import { expect, test } from "vitest";
import { newReader, type StreamEvent } from "./sse";

function read(...pieces: string[]): StreamEvent[] {
  const events: StreamEvent[] = [];
  const push = newReader((event) => events.push(event));
  for (const piece of pieces) push(piece);
  return events;
}

const text = 'retry: 2000\n\nevent: usage\nid: 7.abc.0\ndata: {"a":"x: y"}\n\n: \n\nevent: state\nid: 8.abc.0\ndata: 1\ndata: 2\n\ndata:3\n\n';

const want: StreamEvent[] = [
  { event: "usage", id: "7.abc.0", data: '{"a":"x: y"}' },
  { event: "state", id: "8.abc.0", data: "1\n2" },
  { event: "message", id: "8.abc.0", data: "3" },
];

test("events are the same however they are cut", () => {
  expect(read(text)).toEqual(want);
  expect(read(...text)).toEqual(want);
  for (let i = 0; i < text.length; i++) expect(read(text.slice(0, i), text.slice(i))).toEqual(want);
});

test("lines may end as on other systems", () => expect(read(text.replaceAll("\n", "\r\n"))).toEqual(want));

test("signs of life, comments and halves are no events", () => {
  expect(read(": \n\n", "retry: 5\n\n", "event: usage\n\n", "event: usage\ndata: 1\n")).toEqual([]);
});
