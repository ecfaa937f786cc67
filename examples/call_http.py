#!/usr/bin/env python3
"""A call through Quotashare over HTTP, with the standard library of Python alone.

    python3 examples/call_http.py [CALL [TIME]]

It publishes what earlier calls used, asks whether one more may be made and holds room
for it, makes it, publishes what it used and what the provider said, gives a second call
up, and prints how the key stands. CALL names the call, TIME is when all of it happened;
left out, they are new. Run again with both, as after a crash, nothing is counted twice.

QUOTA_URL (http://127.0.0.1:8480) and QUOTA_API_TOKEN say where the engine is, QUOTA_KEY
(alice) and QUOTA_CONNECTION (kimi-1) whose call it is and where to, QUOTA_PATIENCE (60)
for how many seconds an event is sent again. examples/README.md has the rules it follows.
"""
import http.client
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
import uuid
from datetime import datetime, timezone

URL = os.environ.get("QUOTA_URL", "http://127.0.0.1:8480").rstrip("/")
TOKEN = os.environ.get("QUOTA_API_TOKEN", "")
KEY = os.environ.get("QUOTA_KEY", "alice")
CONNECTION = os.environ.get("QUOTA_CONNECTION", "kimi-1")
PATIENCE = float(os.environ.get("QUOTA_PATIENCE", "60"))

# What is no fault of the event: it may be sent again as it is.
TEMPORARY = {"unavailable", "busy", "stopping", "timeout", "internal"}


class Again(Exception):
    """There was no answer, or one that may be another the next time."""

    def __init__(self, why, after=None):
        super().__init__(why)
        # Seconds, if the engine said how many. What is no number is no reason to hurry.
        self.after = int(after) if re.fullmatch("[0-9]{1,9}", after or "") else 0


class Refused(Exception):
    """What was sent is wrong, or we may not send it: again it would be no better."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def post(path, document, within, field="decision", kind=str):
    """Sends a document once and returns the answer, which has a field of some kind."""
    headers = {"Content-Type": "application/json"}
    if TOKEN:
        headers["Authorization"] = "Bearer " + TOKEN
    request = urllib.request.Request(URL + path, json.dumps(document).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=within) as response:
            status, body = response.status, response.read()
    except urllib.error.HTTPError as error:
        why = "%d: %s" % (error.code, message(error.read()))
        if error.code == 429 or error.code >= 500:
            raise Again(why, error.headers.get("Retry-After"))
        raise Refused(why)
    except (OSError, http.client.HTTPException) as error:
        raise Again("no answer: %s" % error)  # none in time, no connection, half of one
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    # A login page of the network, or another program at the address, says 200 too.
    if isinstance(answer, dict) and isinstance(answer.get(field), kind):
        return answer
    raise Again("%d: no answer of Quotashare: is %s its address? It says %.60r" % (status, URL, body))


def message(body):
    try:
        return json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return "no answer of Quotashare: is %s its address?" % URL


def until_answered(once):
    """Tries again what may be tried again, with the same bytes, until patience ends."""
    end, pause = time.monotonic() + PATIENCE, 0.1
    while True:
        try:
            return once()
        except Again as error:
            wait = error.after or pause
            if time.monotonic() + wait > end:
                raise Refused("given up: %s; what was sent may be sent again as it was" % error)
            say("again in %g s: %s" % (wait, error))
            time.sleep(wait)
            pause = min(2 * pause, 5)


def publish(path, events):
    """Publishes events and returns the sequence from which on an answer knows them.

    Their ids were given before the first try, so it does no harm that all of them are
    sent again when the answer is lost, or some could not be stored.
    """

    def once():
        results = post(path, events, 10, "results", list)["results"]
        if len(results) != len(events):
            raise Again("%d results of %d events: is %s Quotashare?" % (len(results), len(events), URL))
        errors = [(i + 1, r["error"]) for i, r in enumerate(results) if "error" in r]
        for line, error in errors:
            if error["code"] in TEMPORARY:
                raise Again("event %d: %s" % (line, error["message"]))
        if errors:
            raise Refused("; ".join("event %d: %s" % (n, e["message"]) for n, e in errors))
        return max(r.get("seq", 0) for r in results)  # one that is "spooled" has none yet

    return until_answered(once)


def admit(question):
    """Asks whether a call may be made. Without an answer it may: quota must not stop
    all traffic because the engine is away. Whoever thinks otherwise blocks here."""
    try:
        return post("/api/quota/decide", question, 2)
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
        return publish("/api/quota/release", [release])
    seq = publish("/api/quota/events", [
        # The headers as they came. Which of them tell of a limit is not our business.
        {"type": "quota.saturation", "id": name + "-headers", "time": when,
         "connectionId": CONNECTION, "status": status, "headers": headers},
        usage(name + "-used", when, tokens, requestId=name),  # settles the hold
    ])
    print("%s: used %d tokens, settled" % (name, tokens), flush=True)
    return seq


def show(seq):
    """Prints how the key stands, from a state that knows all that was published."""
    question = {"apiKeyId": KEY, "connectionId": CONNECTION, "explain": True,
                "minSeq": seq, "maxWaitMs": 5000}

    def once():
        answer = post("/api/quota/decide", question, 10)
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
    publish("/api/quota/events", [usage(name + "-before-1", when, 40), usage(name + "-before-2", when, 60)])
    print("%s: published 2 events" % name, flush=True)
    last = call(name, when, "hello")
    last = max(last, call(name + "-again", when, "fail"))
    show(last)


if __name__ == "__main__":
    try:
        main()
    except Refused as error:
        say("call_http: %s" % error)
        sys.exit(1)
