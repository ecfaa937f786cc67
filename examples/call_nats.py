#!/usr/bin/env python3
"""A call through Quotashare over NATS, with the standard library of Python alone: how
any language that has sockets publishes events and asks. Where there is a client library
(https://nats.io/download/), take that.

    python3 examples/call_nats.py [CALL [TIME]]

It publishes what earlier calls used, asks whether one more may be made and holds room
for it, makes it, publishes what it used and what the provider said, gives a second call
up, and prints how the key stands. CALL names the call, TIME is when all of it happened;
left out, they are new. Run again with both, as after a crash, nothing is counted twice.

QUOTA_STORE_NATS_URL (nats://127.0.0.1:4222) is where the engine is: several parted by
commas, tls:// for TLS. Who we are there says QUOTA_STORE_NATS_USER, a file with
name:password, or the URL, or QUOTA_API_TOKEN; QUOTA_NATS_CA is a file of certificates to
trust. QUOTA_KEY (alice) and QUOTA_CONNECTION (kimi-1) say whose call it is and where to,
QUOTA_PATIENCE (60) for how many seconds an event is sent again. examples/README.md has
the rules it follows.
"""
import hashlib
import json
import os
import socket
import ssl
import sys
import time
import uuid
from datetime import datetime, timezone
from urllib.parse import unquote, urlsplit

URLS = os.environ.get("QUOTA_STORE_NATS_URL", "nats://127.0.0.1:4222").split(",")
USER_FILE = os.environ.get("QUOTA_STORE_NATS_USER", "")
TOKEN = os.environ.get("QUOTA_API_TOKEN", "")
CA = os.environ.get("QUOTA_NATS_CA") or None
KEY = os.environ.get("QUOTA_KEY", "alice")
CONNECTION = os.environ.get("QUOTA_CONNECTION", "kimi-1")
PATIENCE = float(os.environ.get("QUOTA_PATIENCE", "60"))


class Again(Exception):
    """There was no answer, or one that may be another the next time."""


class Refused(Exception):
    """What was sent is wrong, or we may not send it: again it would be no better."""


def say(text):
    print(text, file=sys.stderr, flush=True)


class Nats:
    """A connection to one of the servers, made when it is needed, for one request at a
    time. One that has not answered in time is closed, so that no answer comes too late."""

    # What the server says of a client's fault; what else it says may be over soon.
    FAULTS = ("Authorization", "Permissions Violation", "Maximum Payload", "Invalid", "Parser")

    def __init__(self, urls):
        self.urls, self.socket, self.requests = urls, None, 0

    def request(self, subject, body, headers, within):
        """Publishes a message and returns the body of the answer to it."""
        end = time.monotonic() + within
        try:
            if self.socket is None:
                self.connect(end)
            self.requests += 1
            reply = "%s.%d" % (self.inbox, self.requests)
            head = "NATS/1.0\r\n" + "".join("%s: %s\r\n" % h for h in headers.items()) + "\r\n"
            head = head.encode()
            self.socket.sendall(b"HPUB %s %s %d %d\r\n%s%s\r\n" % (
                subject.encode(), reply.encode(), len(head), len(head) + len(body), head, body))
            return self.answer(subject, end)
        except ssl.SSLCertVerificationError as error:
            self.close()
            raise Refused("%s (QUOTA_NATS_CA says whom to trust)" % error)
        except OSError as error:  # a time-out is one, too
            self.close()
            self.urls = self.urls[1:] + self.urls[:1]
            raise Again("no answer: %s" % error)
        except Exception:
            self.close()
            raise

    def connect(self, end):
        url = urlsplit(self.urls[0] if "://" in self.urls[0] else "nats://" + self.urls[0])
        left = max(end - time.monotonic(), 0.001)
        self.socket = socket.create_connection((url.hostname, url.port or 4222), timeout=left)
        info = json.loads(self.socket_line(end)[len("INFO "):])
        if url.scheme == "tls" or info.get("tls_required"):
            trust = ssl.create_default_context(cafile=CA)
            self.socket = trust.wrap_socket(self.socket, server_hostname=url.hostname)
        self.input = self.socket.makefile("rb")
        who = credentials(url)
        # Answers come to subjects below this one. A user has its own, which no other reads.
        self.inbox = "_INBOX%s.%s" % ("_" + who["user"] if "user" in who else "", uuid.uuid4().hex)
        options = dict(who, verbose=False, pedantic=False, lang="python", version="0", name="call_nats",
                       protocol=1, headers=True, no_responders=True, tls_required=url.scheme == "tls")
        self.socket.sendall(b"CONNECT %s\r\nSUB %s.* 1\r\nPING\r\n" % (
            json.dumps(options).encode(), self.inbox.encode()))
        while self.line(end)[0] != "PONG":
            pass

    def socket_line(self, end):
        """The first line, byte by byte: after it the socket may turn to TLS."""
        line = b""
        while not line.endswith(b"\r\n"):
            self.socket.settimeout(max(end - time.monotonic(), 0.001))
            byte = self.socket.recv(1)
            if not byte:
                raise OSError("the server has closed the connection")
            line += byte
        return line

    def line(self, end):
        """The words of the server's next line that is about us."""
        while True:
            self.socket.settimeout(max(end - time.monotonic(), 0.001))
            line = self.input.readline()
            if not line.endswith(b"\n"):
                raise OSError("the server has closed the connection")
            word, _, rest = line.decode().strip().partition(" ")
            if word == "PING":
                self.socket.sendall(b"PONG\r\n")
            elif word == "-ERR":
                why = rest.strip("'")
                raise (Refused if why.startswith(self.FAULTS) else Again)(why)
            elif word not in ("+OK", "INFO"):
                return [word] + rest.split()

    def answer(self, subject, end):
        while True:
            words = self.line(end)
            if words[0] not in ("MSG", "HMSG"):
                continue
            payload = self.input.read(int(words[-1]) + len(b"\r\n"))[:-2]
            if words[0] == "HMSG":
                size = int(words[-2])
                if payload.startswith(b"NATS/1.0 503"):
                    raise Again("nobody listens on %s" % subject)
                payload = payload[size:]
            return json.loads(payload)

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None


def credentials(url):
    """Who we are: the user of the file, else that of the URL, else the token."""
    if USER_FILE:
        with open(USER_FILE) as file:
            name, _, password = file.read().strip().partition(":")
        return {"user": name, "pass": password}
    if url.password:
        return {"user": unquote(url.username), "pass": unquote(url.password)}
    token = unquote(url.username or "") or TOKEN
    return {"auth_token": token} if token else {}


nats = Nats(URLS)


def until_answered(once):
    """Tries again what may be tried again, with the same bytes, until patience ends."""
    end, pause = time.monotonic() + PATIENCE, 0.1
    while True:
        try:
            return once()
        except Again as error:
            if time.monotonic() + pause > end:
                raise Refused("given up: %s; what was sent may be sent again as it was" % error)
            say("again in %g s: %s" % (pause, error))
            time.sleep(pause)
            pause = min(2 * pause, 5)


def publish(kind, events):
    """Publishes events of one kind as one message and returns its sequence in the log.

    Their ids were given before the first try, so it does no harm that all of them are
    sent again when the acknowledgement is lost. The message's own id spares the log a
    second copy. It is made of the bytes: under the same id the log takes nothing else.
    """
    body = json.dumps(events).encode()
    headers = {"Content-Type": "application/json"}
    if all("id" in e for e in events):
        headers["Nats-Msg-Id"] = hashlib.sha256(body).hexdigest()

    def once():
        ack = nats.request(kind, body, headers, 2)
        if "error" in ack:  # the log did not take it: it is full, or has no leader
            raise Again("%s: %s" % (kind, ack["error"]["description"]))
        return ack["seq"]

    return until_answered(once)


def ask(question, within):
    headers = {"Content-Type": "application/json"}
    answer = nats.request("quota.decide", json.dumps(question).encode(), headers, within)
    if "error" in answer:
        error = answer["error"]
        raise (Again if error["code"] == "internal" else Refused)(error["message"])
    return answer


def admit(question):
    """Asks whether a call may be made. Without an answer it may: quota must not stop
    all traffic because the engine is away. Whoever thinks otherwise blocks here."""
    try:
        return ask(question, 2)
    except Again as error:
        say("%s: %s" % (question["requestId"], error))
        return {"decision": "allow", "reason": "fail-open"}


def usage(name, when, tokens, **more):
    """The event of a call. Its id and its time never change, however often it is sent."""
    return {"id": name, "time": when, "apiKeyId": KEY, "connectionId": CONNECTION,
            "model": "kimi-k2", "cost": {"tokens": tokens}, **more}


class ProviderDown(Exception):
    pass


def provider(prompt):
    """Stands for the call to the provider: status, headers, and the tokens it states."""
    if prompt == "fail":
        raise ProviderDown("as if the provider were down")
    return 200, {"x-ratelimit-limit-requests": "500", "x-ratelimit-remaining-requests": "499",
                 "x-ratelimit-reset-requests": "120ms"}, 150


def call(name, when, prompt):
    """One call, from the question to its settlement. Returns the last sequence."""
    d = admit({"apiKeyId": KEY, "connectionId": CONNECTION, "model": "kimi-k2",
               "estimate": {"tokens": 300}, "reserve": True, "requestId": name,
               "leaseMs": 60_000, "maxWaitMs": 1000})
    for what in d.get("degraded", []):
        say("%s: degraded: %s" % (name, what))
    print("%s: %s (%s)" % (name, d["decision"], d["reason"]), flush=True)
    if d["decision"] == "block":  # it holds nothing
        print("%s: %d, %s" % (name, d["httpStatus"], d.get("message", "")))
        return 0
    try:
        status, headers, tokens = provider(prompt)
    except ProviderDown as error:
        print("%s: the provider failed, released" % name, flush=True)
        say("%s: %s" % (name, error))
        release = {"apiKeyId": KEY, "requestId": name}
        if "decisionId" in d:  # ends the hold of this decision, and none that came later
            release["decisionId"] = d["decisionId"]
        return publish("quota.release", [release])
    # The headers as they came. Which of them tell of a limit is not our business.
    publish("quota.saturation", [{"id": name + "-headers", "time": when, "connectionId": CONNECTION,
                                  "status": status, "headers": headers}])
    seq = publish("quota.consumption", [usage(name + "-used", when, tokens, requestId=name)])
    print("%s: used %d tokens, settled" % (name, tokens), flush=True)
    return seq


def show(seq):
    """Prints how the key stands, from a state that knows all that was published."""
    question = {"apiKeyId": KEY, "connectionId": CONNECTION, "explain": True,
                "minSeq": seq, "maxWaitMs": 5000}

    def once():
        answer = ask(question, 10)
        if "min-seq" in answer.get("degraded", []):
            raise Again("the answer does not know sequence %d yet" % seq)
        return answer

    answer = until_answered(once)
    for d in answer["dimensions"]:
        limit = "an unknown number of" if d["limit"] is None else d["limit"]
        print("%s on %s: %s of %s %s %s used, %s held" % (
            KEY, CONNECTION, d["consumed"], limit, d["unit"], d["window"], d["held"]))
    if not answer["dimensions"]:
        print("%s on %s: nothing limits it (%s)" % (KEY, CONNECTION, answer["reason"]))


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else "call-" + uuid.uuid4().hex[:8]
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    when = sys.argv[2] if len(sys.argv) > 2 else now
    publish("quota.consumption", [usage(name + "-before-1", when, 40), usage(name + "-before-2", when, 60)])
    print("%s: published 2 events" % name, flush=True)
    last = call(name, when, "hello")
    last = max(last, call(name + "-again", when, "fail"))
    show(last)


if __name__ == "__main__":
    try:
        main()
    except (Refused, OSError) as error:
        say("call_nats: %s" % error)
        sys.exit(1)
