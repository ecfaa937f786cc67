// A NATS client in 70 lines of Node and no package, to show that any language
// that has sockets can publish usage and ask for decisions. For real work take
// the client library of your language: https://nats.io/download/
//
//   node examples/nats.mjs SUBJECT JSON [HEADER:VALUE]...
//
// It sends JSON and prints the answer. That to an event is the log's acknowledgement,
// {"stream":"QUOTA","seq":…}: once it is there, the event is on disk. QUOTA_NATS_ADDR
// says where the server is, or QUOTA_STORE_NATS_URL, nats://name:password@host:port.
import net from "node:net";

const [subject, body, ...headers] = process.argv.slice(2);
if (!subject || body === undefined) {
  console.error("usage: node examples/nats.mjs SUBJECT JSON [HEADER:VALUE]...");
  process.exit(2);
}
const url = new URL(process.env.QUOTA_STORE_NATS_URL || "nats://" + (process.env.QUOTA_NATS_ADDR || "127.0.0.1:4222"));
const [user, pass] = [url.username, url.password].map(decodeURIComponent);
// Answers come here. A user has subjects of its own for them, which no other reads.
const inbox = (user ? `_INBOX_${user}.` : "_INBOX.") + Math.random().toString(36).slice(2);
const head = headers.length ? `NATS/1.0\r\n${headers.join("\r\n")}\r\n\r\n` : "";
const sizes = [head, head + body].map((text) => Buffer.byteLength(text));

const options = { verbose: false, headers: true, no_responders: true, lang: "example", ...(user && { user, pass }) };
const socket = net.connect(Number(url.port || 4222), url.hostname, () => {
  socket.write(`CONNECT ${JSON.stringify(options)}\r\nSUB ${inbox} 1\r\n`);
  socket.write(`${head ? "HPUB" : "PUB"} ${subject} ${inbox} ${(head ? sizes : sizes.slice(1)).join(" ")}\r\n${head}${body}\r\n`);
});
socket.setTimeout(5000, () => fail("no answer within 5 seconds"));
socket.on("error", (err) => fail(`${url.host}: ${err.message}`));

let input = Buffer.alloc(0);
socket.on("data", (chunk) => {
  input = Buffer.concat([input, chunk]);
  while (step());
});

// step takes one message of the server off the input, if it is there whole.
function step() {
  const end = input.indexOf("\r\n");
  if (end < 0) return false;
  const words = input.toString("utf8", 0, end).split(" ");
  if (words[0] === "MSG" || words[0] === "HMSG") {
    const size = Number(words.at(-1));
    if (input.length < end + 2 + size + 2) return false;
    answer(words, input.subarray(end + 2, end + 2 + size));
  } else if (words[0] === "PING") {
    socket.write("PONG\r\n");
  } else if (words[0] === "-ERR") {
    fail(words.slice(1).join(" "));
  }
  input = input.subarray(end + 2);
  return true;
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
