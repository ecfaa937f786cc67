// A call through Quotashare over HTTP, with Node alone.
//
//   node examples/call-http.mjs [CALL [TIME]]
//
// It publishes what earlier calls used, asks whether one more may be made and holds room
// for it, makes it, publishes what it used and what the provider said, gives a second call
// up, and prints how the key stands. CALL names the call, TIME is when all of it happened;
// left out, they are new. Run again with both, as after a crash, nothing is counted twice.
//
// QUOTA_URL (http://127.0.0.1:8480) and QUOTA_API_TOKEN say where the engine is, QUOTA_KEY
// (alice) and QUOTA_CONNECTION (kimi-1) whose call it is and where to, QUOTA_PATIENCE (60)
// for how many seconds an event is sent again. examples/README.md has the rules it follows.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const env = process.env;
const url = (env.QUOTA_URL || "http://127.0.0.1:8480").replace(/\/+$/, "");
const token = env.QUOTA_API_TOKEN || "";
const apiKeyId = env.QUOTA_KEY || "alice";
const connectionId = env.QUOTA_CONNECTION || "kimi-1";
const patience = Number(env.QUOTA_PATIENCE || 60) * 1000;

// What is no fault of the event: it may be sent again as it is.
const temporary = new Set(["unavailable", "busy", "stopping", "timeout", "internal"]);

// Again: there was no answer, or one that may be another the next time.
class Again extends Error {
  constructor(why, after) {
    super(why);
    // Seconds, if the engine said how many. What is no number is no reason to hurry.
    this.after = /^[0-9]{1,9}$/.test(after ?? "") ? Number(after) : 0;
  }
}

// Refused: what was sent is wrong, or we may not send it. Again it would be no better.
class Refused extends Error {}

// post sends a document once and returns the answer, which is one if the test says so.
async function post(path, document, within, isAnswer) {
  const headers = { "content-type": "application/json" };
  if (token) headers.authorization = `Bearer ${token}`;
  let response, text;
  try {
    response = await fetch(url + path, {
      method: "POST",
      headers,
      body: JSON.stringify(document),
      signal: AbortSignal.timeout(within),
    });
    text = await response.text();
  } catch (error) {
    throw new Again(`no answer: ${error.cause?.message || error.message}`); // none in time, no connection, half of one
  }
  const answer = parse(text);
  // A login page of the network, or another program at the address, says 200 too.
  if (response.ok && isAnswer(answer)) return answer;
  const said = (!response.ok && answer?.error?.message) || `no answer of Quotashare: is ${url} its address? It says ${JSON.stringify(text.slice(0, 60))}`;
  const why = `${response.status}: ${said}`;
  if (response.ok || response.status === 429 || response.status >= 500) {
    throw new Again(why, response.headers.get("retry-after"));
  }
  throw new Refused(why);
}

const isDecision = (answer) => typeof answer?.decision === "string";

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// untilAnswered tries again what may be tried again, with the same bytes, until patience ends.
async function untilAnswered(once) {
  const end = performance.now() + patience;
  for (let pause = 0.1; ; pause = Math.min(2 * pause, 5)) {
    try {
      return await once();
    } catch (error) {
      if (!(error instanceof Again)) throw error;
      const wait = error.after || pause;
      if (performance.now() + wait * 1000 > end) {
        throw new Refused(`given up: ${error.message}; what was sent may be sent again as it was`);
      }
      console.error(`again in ${wait} s: ${error.message}`);
      await sleep(wait * 1000);
    }
  }
}

// publish publishes events and returns the sequence from which on an answer knows them.
// Their ids were given before the first try, so it does no harm that all of them are sent
// again when the answer is lost, or some could not be stored.
function publish(path, events) {
  return untilAnswered(async () => {
    const { results } = await post(path, events, 10_000, (answer) => answer?.results?.length === events.length);
    const errors = results.map((r, i) => [i + 1, r.error]).filter(([, error]) => error);
    const said = errors.map(([line, error]) => `event ${line}: ${error.message}`).join("; ");
    if (errors.some(([, error]) => temporary.has(error.code))) throw new Again(said);
    if (errors.length > 0) throw new Refused(said);
    return Math.max(...results.map((r) => r.seq ?? 0)); // one that is "spooled" has none yet
  });
}

// admit asks whether a call may be made. Without an answer it may: quota must not stop
// all traffic because the engine is away. Whoever thinks otherwise blocks here.
async function admit(question) {
  try {
    return await post("/api/quota/decide", question, 2000, isDecision);
  } catch (error) {
    if (!(error instanceof Again)) throw error;
    console.error(`${question.requestId}: ${error.message}`);
    return { decision: "allow", reason: "fail-open" };
  }
}

// usage is the event of a call. Its id and its time never change, however often it is sent.
const usage = (id, time, tokens, more) => ({ id, time, apiKeyId, connectionId, model: "kimi-k2", cost: { tokens }, ...more });

// provider stands for the call to the provider: status, headers, and the tokens it states.
async function provider(prompt) {
  if (prompt === "fail") throw new Error("as if the provider were down");
  return {
    status: 200,
    headers: { "x-ratelimit-limit-requests": "500", "x-ratelimit-remaining-requests": "499", "x-ratelimit-reset-requests": "120ms" },
    tokens: 150,
  };
}

// call is one call, from the question to its settlement. It returns the last sequence.
async function call(name, time, prompt) {
  const question = { apiKeyId, connectionId, model: "kimi-k2", estimate: { tokens: 300 }, reserve: true, requestId: name };
  const d = await admit({ ...question, leaseMs: 60_000, maxWaitMs: 1000 });
  for (const what of d.degraded ?? []) console.error(`${name}: degraded: ${what}`);
  console.log(`${name}: ${d.decision} (${d.reason})`);
  if (d.decision === "block") {
    console.log(`${name}: ${d.httpStatus}, ${d.message}`); // it holds nothing
    return 0;
  }
  let response;
  try {
    response = await provider(prompt);
  } catch (error) {
    console.log(`${name}: the provider failed, released`);
    console.error(`${name}: ${error.message}`);
    // With decisionId it ends the hold of this decision, and none that came later.
    return publish("/api/quota/release", [{ apiKeyId, requestId: name, decisionId: d.decisionId }]);
  }
  const { status, headers, tokens } = response;
  const seq = await publish("/api/quota/events", [
    // The headers as they came. Which of them tell of a limit is not our business.
    { type: "quota.saturation", id: `${name}-headers`, time, connectionId, status, headers },
    usage(`${name}-used`, time, tokens, { requestId: name }), // settles the hold
  ]);
  console.log(`${name}: used ${tokens} tokens, settled`);
  return seq;
}

// show prints how the key stands, from a state that knows all that was published.
async function show(minSeq) {
  const answer = await untilAnswered(async () => {
    const a = await post("/api/quota/decide", { apiKeyId, connectionId, explain: true, minSeq, maxWaitMs: 5000 }, 10_000, isDecision);
    if (a.degraded?.includes("min-seq")) throw new Again(`the answer does not know sequence ${minSeq} yet`);
    return a;
  });
  for (const d of answer.dimensions) {
    const limit = d.limit ?? "an unknown number of";
    console.log(`${apiKeyId} on ${connectionId}: ${d.consumed} of ${limit} ${d.unit} ${d.window} used, ${d.held} held`);
  }
  if (answer.dimensions.length === 0) console.log(`${apiKeyId} on ${connectionId}: nothing limits it (${answer.reason})`);
}

async function main(name = `call-${randomUUID().slice(0, 8)}`, time = new Date().toISOString()) {
  await publish("/api/quota/events", [usage(`${name}-before-1`, time, 40), usage(`${name}-before-2`, time, 60)]);
  console.log(`${name}: published 2 events`);
  const first = await call(name, time, "hello");
  const second = await call(`${name}-again`, time, "fail");
  await show(Math.max(first, second));
}

try {
  await main(...process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error(`call-http: ${error.message}`);
  process.exitCode = 1;
}
