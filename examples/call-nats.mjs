// A call through Quotashare over NATS, with the client of NATS for Node.
//
//   npm install --prefix examples        (once)
//   node examples/call-nats.mjs [CALL [TIME]]
//
// It publishes what earlier calls used, asks whether one more may be made and holds room
// for it, makes it, publishes what it used and what the provider said, gives a second call
// up, and prints how the key stands. CALL names the call, TIME is when all of it happened;
// left out, they are new. Run again with both, as after a crash, nothing is counted twice.
//
// QUOTA_STORE_NATS_URL (nats://127.0.0.1:4222) is where the engine is: several parted by
// commas, tls:// for TLS. Who we are there says QUOTA_STORE_NATS_USER, a file with
// name:password, or the URL, or QUOTA_API_TOKEN; QUOTA_NATS_CA is a file of certificates to
// trust. QUOTA_KEY (alice) and QUOTA_CONNECTION (kimi-1) say whose call it is and where to,
// QUOTA_PATIENCE (60) for how many seconds an event is sent again. examples/README.md has
// the rules it follows.
import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, errors, headers as natsHeaders } from "@nats-io/transport-node";

const env = process.env;
const urls = (env.QUOTA_STORE_NATS_URL || "nats://127.0.0.1:4222").split(",").map((u) => new URL(u.includes("://") ? u : `nats://${u}`));
const apiKeyId = env.QUOTA_KEY || "alice";
const connectionId = env.QUOTA_CONNECTION || "kimi-1";
const patience = Number(env.QUOTA_PATIENCE || 60) * 1000;

// Again: there was no answer, or one that may be another the next time.
class Again extends Error {}

// Refused: what was sent is wrong, or we may not send it. Again it would be no better.
class Refused extends Error {}

// credentials says who we are: the user of the file, else that of the URL, else the token.
// Answers come to subjects below inboxPrefix. A user has its own, which no other reads.
function credentials() {
  const [{ username, password }] = urls;
  if (env.QUOTA_STORE_NATS_USER) {
    const [user, ...rest] = readFileSync(env.QUOTA_STORE_NATS_USER, "utf8").trim().split(":");
    return { user, pass: rest.join(":"), inboxPrefix: `_INBOX_${user}` };
  }
  if (password) {
    const user = decodeURIComponent(username);
    return { user, pass: decodeURIComponent(password), inboxPrefix: `_INBOX_${user}` };
  }
  const token = decodeURIComponent(username) || env.QUOTA_API_TOKEN;
  return token ? { token } : {};
}

let connection; // made when it is needed; it finds the way back by itself

async function connected() {
  connection ??= await connect({
    servers: urls.map((u) => u.host),
    tls: urls.some((u) => u.protocol === "tls:") || env.QUOTA_NATS_CA ? { caFile: env.QUOTA_NATS_CA } : undefined,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
    ...credentials(),
  });
  return connection;
}

// request publishes a message and returns the body of the answer to it.
async function request(subject, body, headers, timeout) {
  const head = natsHeaders();
  for (const [name, value] of Object.entries(headers)) head.set(name, value);
  try {
    const nc = await connected();
    return (await nc.request(subject, body, { timeout, headers: head })).json();
  } catch (error) {
    const cause = error.cause ?? error;
    const fault = [errors.AuthorizationError, errors.PermissionViolationError, errors.InvalidArgumentError];
    if (fault.some((kind) => cause instanceof kind || error instanceof kind)) throw new Refused(cause.message);
    throw new Again(`no answer: ${cause.message}`);
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
      if (performance.now() + pause * 1000 > end) {
        throw new Refused(`given up: ${error.message}; what was sent may be sent again as it was`);
      }
      console.error(`again in ${pause} s: ${error.message}`);
      await sleep(pause * 1000);
    }
  }
}

// publish publishes events of one kind as one message and returns its sequence in the log.
// Their ids were given before the first try, so it does no harm that all of them are sent
// again when the acknowledgement is lost. The message's own id spares the log a second
// copy. It is made of the bytes: under the same id the log takes nothing else.
function publish(kind, events) {
  const body = JSON.stringify(events);
  const headers = { "Content-Type": "application/json" };
  if (events.every((e) => e.id)) headers["Nats-Msg-Id"] = createHash("sha256").update(body).digest("hex");
  return untilAnswered(async () => {
    const ack = await request(kind, body, headers, 2000);
    if (ack.error) throw new Again(`${kind}: ${ack.error.description}`); // the log is full, or has no leader
    return ack.seq;
  });
}

async function ask(question, timeout) {
  const answer = await request("quota.decide", JSON.stringify(question), { "Content-Type": "application/json" }, timeout);
  if (answer.error) throw new (answer.error.code === "internal" ? Again : Refused)(answer.error.message);
  return answer;
}

// admit asks whether a call may be made. Without an answer it may: quota must not stop
// all traffic because the engine is away. Whoever thinks otherwise blocks here.
async function admit(question) {
  try {
    return await ask(question, 2000);
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
    return publish("quota.release", [{ apiKeyId, requestId: name, decisionId: d.decisionId }]);
  }
  const { status, headers, tokens } = response;
  // The headers as they came. Which of them tell of a limit is not our business.
  await publish("quota.saturation", [{ id: `${name}-headers`, time, connectionId, status, headers }]);
  const seq = await publish("quota.consumption", [usage(`${name}-used`, time, tokens, { requestId: name })]); // settles the hold
  console.log(`${name}: used ${tokens} tokens, settled`);
  return seq;
}

// show prints how the key stands, from a state that knows all that was published.
async function show(minSeq) {
  const answer = await untilAnswered(async () => {
    const a = await ask({ apiKeyId, connectionId, explain: true, minSeq, maxWaitMs: 5000 }, 10_000);
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
  await publish("quota.consumption", [usage(`${name}-before-1`, time, 40), usage(`${name}-before-2`, time, 60)]);
  console.log(`${name}: published 2 events`);
  const first = await call(name, time, "hello");
  const second = await call(`${name}-again`, time, "fail");
  await show(Math.max(first, second));
}

try {
  await main(...process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error(`call-nats: ${error.message}`);
  process.exitCode = 1;
} finally {
  await connection?.close();
}
