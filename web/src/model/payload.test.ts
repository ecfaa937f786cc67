import { expect, test } from "vitest";
import { payload, setOut } from "./payload";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

test("JSON is set out, and keeps its digits", () =>
  expect(payload(base64('{"apiKeyId":"a{,b","cost":{"usd":1.10000000000000000001},"list":[1, 2],"none":{ }}'))).toEqual({
    kind: "json",
    text: '{\n  "apiKeyId": "a{,b",\n  "cost": {\n    "usd": 1.10000000000000000001\n  },\n  "list": [\n    1,\n    2\n  ],\n  "none": {}\n}',
  }));

test("what was sent in lines is set out anew", () => expect(setOut('{\n "a" : "\\"",\n\t"b": null }')).toBe('{\n  "a": "\\"",\n  "b": null\n}'));

test("text is shown as it is", () => {
  expect(payload(base64('{"apiKeyId": "ann", "cost"'))).toEqual({ kind: "text", text: '{"apiKeyId": "ann", "cost"' });
  expect(payload(base64("für\tdich\n"))).toEqual({ kind: "text", text: "für\tdich\n" });
  expect(payload("")).toEqual({ kind: "text", text: "" });
});

test("what is no text is shown byte by byte", () => {
  expect(payload(Buffer.from([0x82, 0xa7, 0x00]).toString("base64"))).toEqual({ kind: "bytes", text: "82 a7 00" });
  expect(payload(base64("a\u0000b"))).toEqual({ kind: "bytes", text: "61 00 62" });
  const long = payload(Buffer.alloc(600).toString("base64"));
  expect(long.text.split("\n")).toHaveLength(33);
  expect(long.text.endsWith("\n…")).toBe(true);
});
