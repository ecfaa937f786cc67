// A NATS client in 90 lines of Node and no package, to show that any language
// that has sockets can publish usage and ask for decisions. For real work take
// the client library of your language: https://nats.io/download/
//
//   node examples/nats.mjs SUBJECT JSON [HEADER:VALUE]...
//
// It sends JSON and prints the answer. That to an event is the log's acknowledgement,
// {"stream":"QUOTA","seq":…}: once it is there, the event is on disk. QUOTA_NATS_ADDR
// says where the server is, or QUOTA_STORE_NATS_URL, nats://name:password@host:port, the
// first where there are several. A server that wants TLS gets it, and with tls:// every
// one has to; QUOTA_NATS_CA is a file of certificates to trust.
import { readFileSync } from "node:fs";
import net from "node:net";
import tls from "node:tls";

const [subject, body, ...headers] = process.argv.slice(2);
if (!subject || body === undefined) {
  console.error("usage: node examples/nats.mjs SUBJECT JSON [HEADER:VALUE]...");
  process.exit(2);
}
const [at] = (process.env.QUOTA_STORE_NATS_URL || process.env.QUOTA_NATS_ADDR || "127.0.0.1:4222").split(",");
const url = new URL(at.includes("://") ? at : "nats://" + at);
const [user, pass] = [url.username, url.password].map(decodeURIComponent);
const host = url.hostname.replace(/^\[|\]$/g, ""); // of an address of IPv6
// Answers come here. A user has subjects of its own for them, which no other reads.
const inbox = (pass ? `_INBOX_${user}.` : "_INBOX.") + Math.random().toString(36).slice(2);
const head = headers.length ? `NATS/1.0\r\n${headers.join("\r\n")}\r\n\r\n` : "";
const sizes = [head, head + body].map((text) => Buffer.byteLength(text));

let input = Buffer.alloc(0);
let greeted = false;
let socket = listen(net.connect(Number(url.port || 4222), host));

function listen(to) {
  to.setTimeout(5000, () => fail("no answer within 5 seconds"));
  to.on("error", (err) => fail(`${url.host}: ${err.message || err.code}`));
  to.on("close", () => fail(`${url.host} has closed the connection without an answer`));
  return to.on("data", (chunk) => {
    input = Buffer.concat([input, chunk]);
    while (step());
  });
}

// step takes one message of the server off the input, if it is there whole.
function step() {
  const end = input.indexOf("\r\n");
  if (end < 0) return false;
  const line = input.toString("utf8", 0, end);
  const words = line.split(" ");
  if (words[0] === "MSG" || words[0] === "HMSG") {
    const size = Number(words.at(-1));
    if (input.length < end + 2 + size + 2) return false;
    answer(words, input.subarray(end + 2, end + 2 + size));
  } else if (words[0] === "INFO" && !greeted) {
    greeted = true;
    greet(JSON.parse(line.slice("INFO ".length)));
  } else if (words[0] === "PING") {
    socket.write("PONG\r\n");
  } else if (words[0] === "-ERR") {
    fail(words.slice(1).join(" "));
  }
  input = input.subarray(end + 2);
  return true;
}

// greet turns to TLS, where the server wants it or we do, and then sends.
function greet(info) {
  if (!info.tls_required && url.protocol !== "tls:") return send();
  if (!info.tls_required && !info.tls_available) fail(`${url.host} speaks no TLS`);
  const ca = process.env.QUOTA_NATS_CA && readFileSync(process.env.QUOTA_NATS_CA);
  socket.removeAllListeners("data");
  socket = listen(tls.connect({ socket, host, servername: net.isIP(host) ? "" : host, ca: ca || undefined }, send));
}

function send() {
  const who = pass ? { user, pass } : user ? { auth_token: user } : {};
  const options = { verbose: false, headers: true, no_responders: true, lang: "example", ...who };
  socket.write(`CONNECT ${JSON.stringify(options)}\r\nSUB ${inbox} 1\r\n`);
  socket.write(`${head ? "HPUB" : "PUB"} ${subject} ${inbox} ${(head ? sizes : sizes.slice(1)).join(" ")}\r\n${head}${body}\r\n`);
}

function answer(words, payload) {
  const headers = words[0] === "HMSG" ? payload.toString("utf8", 0, Number(words.at(-2))) : "";
  const text = payload.toString("utf8", Buffer.byteLength(headers));
  if (headers.startsWith("NATS/1.0 503")) fail(`nobody listens on ${subject}`);
  console.log(text);
  process.exit(0);
}

function fail(message) {
  console.error("nats: " + message);
  process.exit(1);
}
