// Makes calls with the SDKs of OpenAI and Anthropic, unchanged, as their users do.
//
// usage: node sdk.mjs < calls > answers
//
// One line of input is one call:
//
//	{"sdk": "openai", "url": "http://127.0.0.1:8482", "token": "qs-…", "method": "chat.completions.create",
//	 "params": {…}, "headers": {…}, "maxRetries": 2, "bearer": true, "stopAfter": 3, "leave": true}
//
// With bearer, Anthropic's sends the token as authorization; stopAfter aborts a
// stream when that many events came. One line of output is what it came to: every
// HTTP response in attempts; result, or of a stream and of a list events and final;
// error.
//
// No time is waited for: where an SDK would before it tries again, a line
// {"wait": milliseconds} is printed, and it goes on when a line is read. With leave,
// {"wait": 0} is printed when the call is on its way, which is aborted then.
import { createInterface } from "node:readline";
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const print = (value) => console.log(JSON.stringify(value));

// Timers are of many; the waits of both SDKs are those of their sleep.mjs.
const setTimer = globalThis.setTimeout;
globalThis.setTimeout = (done, ms, ...args) => {
  if (!new Error().stack.includes("/internal/utils/sleep.mjs")) return setTimer(done, ms, ...args);
  print({ wait: ms });
  lines.next().then(() => done(...args));
  return undefined;
};

function client({ sdk, url, token, bearer, headers, maxRetries = 0 }, attempts) {
  const options = {
    maxRetries,
    defaultHeaders: headers,
    fetch: async (...args) => {
      const response = await fetch(...args);
      attempts.push({ status: response.status, headers: Object.fromEntries(response.headers) });
      return response;
    },
  };
  if (sdk === "openai") return new OpenAI({ ...options, baseURL: `${url}/v1`, apiKey: token });
  const credential = bearer ? { apiKey: null, authToken: token } : { apiKey: token, authToken: null };
  return new Anthropic({ ...options, baseURL: url, ...credential });
}

function leaving() {
  const controller = new AbortController();
  print({ wait: 0 });
  lines.next().then(() => controller.abort());
  return controller.signal;
}

// take reads a stream or a list to its end, or to where it is to be stopped.
async function take(answer, { stopAfter }, events) {
  for await (const event of answer) {
    events.push(structuredClone(event)); // some events are changed later
    if (events.length === stopAfter) answer.controller.abort();
  }
}

const final = (answer) => answer.finalMessage?.() ?? answer.finalChatCompletion?.() ?? answer.finalResponse?.();

async function make(call, outcome) {
  const path = call.method.split(".");
  const name = path.pop();
  const owner = path.reduce((object, member) => object[member], client(call, outcome.attempts));
  const options = call.leave ? [{ signal: leaving() }] : [];
  const answer = await owner[name](call.params, ...options);
  if (!answer[Symbol.asyncIterator]) {
    outcome.result = answer;
    outcome.requestId = answer._request_id;
    return;
  }
  await take(answer, call, (outcome.events = []));
  outcome.final = await final(answer);
}

const told = (error) => ({
  class: error.constructor.name,
  status: error.status,
  message: error.message,
  type: error.type,
  code: error.code,
  body: error.error,
});

for (;;) {
  const { value, done } = await lines.next();
  if (done) break;
  const outcome = { attempts: [] };
  try {
    await make(JSON.parse(value), outcome);
  } catch (error) {
    outcome.error = told(error);
  }
  print(outcome);
}
