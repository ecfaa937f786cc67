// Publishes events and asks questions with the NATS client of npm, so that the
// tests see what a program sees that shares no code with the engine.
//
// usage: node ask.mjs URL < cases > answers
//
// One line of input is one case, {"events": [...], "asks": [...]}. Its events
// are published to quota.consumption, one message each; when all of them are
// acknowledged, the questions are sent to quota.decide. One line of output is
// the text of one answer, as it came: JSON.parse here would round the amounts.
import { createInterface } from "node:readline";
import { connect } from "@nats-io/transport-node";

const timeout = { timeout: 10_000 };
const nc = await connect({ servers: process.argv[2], maxReconnectAttempts: 0 });

async function publish(event) {
  const answer = await nc.request("quota.consumption", JSON.stringify(event), timeout);
  const ack = answer.json();
  if (ack.error || ack.stream !== "QUOTA") throw new Error(`event ${event.id}: ${answer.string()}`);
  return ack.seq;
}

async function ask(question) {
  const answer = await nc.request("quota.decide", JSON.stringify(question), timeout);
  return answer.string();
}

for await (const line of createInterface({ input: process.stdin })) {
  const { events, asks } = JSON.parse(line);
  const seqs = await Promise.all(events.map(publish));
  const minSeq = Math.max(0, ...seqs);
  const answers = await Promise.all(asks.map((q) => ask({ ...q, minSeq, maxWaitMs: 10_000 })));
  for (const text of answers) console.log(text);
}
await nc.close();
