package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// codexHeaders are what ChatGPT answers to Codex: the weekly window and that of
// 5 hours, told apart by their length alone.
func codexHeaders(fiveHour string, reset int64) object {
	return object{
		"content-type":                             "text/event-stream",
		"x-codex-primary-used-percent":             "31",
		"x-codex-primary-window-minutes":           "10080",
		"x-codex-primary-reset-at":                 fmt.Sprint((reset + 48*hours) / 1000),
		"X-Codex-Secondary-Used-Percent":           []string{fiveHour},
		"X-Codex-Secondary-Window-Minutes":         "300",
		"X-Codex-Secondary-Reset-At":               fmt.Sprint(reset / 1000),
		"x-codex-credits-unlimited":                "False",
		"x-codex-bengalfox-limit-name":             "Codex-Spark",
		"x-codex-bengalfox-primary-used-percent":   "7.5",
		"x-codex-bengalfox-primary-window-minutes": "300",
	}
}

// carrier brings an event to the log in one of the ways there are.
type carrier func(o operator, nc *nats.Conn, event object)

// carriers are the ways in which a gateway may forward headers, by the connection
// that the tests name after them.
var carriers = map[string]carrier{
	"http": func(o operator, _ *nats.Conn, e object) {
		o.send("POST", apiPath("events"), withType(e))
	},
	"http-array": func(o operator, _ *nats.Conn, e object) {
		o.send("POST", apiPath("events"), []object{withType(e)})
	},
	"http-lines": func(o operator, _ *nats.Conn, e object) {
		o.post("application/x-ndjson", text(o.t, withType(e))+"\n", nil)
	},
	"http-msgpack": func(o operator, _ *nats.Conn, e object) {
		o.post("application/msgpack", packed(o.t, withType(e)), nil)
	},
	"http-cloudevent": func(o operator, _ *nats.Conn, e object) {
		o.post("application/cloudevents+json", text(o.t, cloudEvent(e)), nil)
	},
	"http-cloudevent-binary": func(o operator, _ *nats.Conn, e object) {
		o.post("application/json", text(o.t, e), binaryCloudEvent(e))
	},
	"nats-json": func(o operator, nc *nats.Conn, e object) {
		request(o.t, nc, "quota.saturation", text(o.t, e))
	},
	"nats-subject": func(o operator, nc *nats.Conn, e object) {
		request(o.t, nc, "quota.saturation.gateway-7", text(o.t, e))
	},
	"nats-array": func(o operator, nc *nats.Conn, e object) {
		request(o.t, nc, "quota.saturation", text(o.t, []object{e}))
	},
	"nats-msgpack": func(o operator, nc *nats.Conn, e object) {
		request(o.t, nc, "quota.saturation", packed(o.t, e))
	},
	"nats-cloudevent": func(o operator, nc *nats.Conn, e object) {
		request(o.t, nc, "quota.saturation", text(o.t, cloudEvent(e)))
	},
	"nats-cloudevent-binary": func(o operator, nc *nats.Conn, e object) {
		m := nats.NewMsg("quota.saturation")
		m.Data = []byte(text(o.t, e))
		for name, values := range binaryCloudEvent(e) {
			m.Header[strings.ToLower(name)] = values
		}
		if _, err := nc.RequestMsgWithContext(deadline(o.t), m); err != nil {
			o.t.Fatal(err)
		}
	},
}

func withType(e object) object {
	e = maps.Clone(e)
	e["type"] = "quota.saturation"
	return e
}

// cloudEvent puts the event into an envelope, which has its time.
func cloudEvent(e object) object {
	data := maps.Clone(e)
	delete(data, "time")
	return object{
		"specversion": "1.0", "type": "quota.saturation", "source": "/gateway/7", "time": rfc(e["time"].(int64)),
		"id": fmt.Sprint(e["connectionId"], e["time"]), "data": data,
	}
}

func binaryCloudEvent(e object) http.Header {
	return http.Header{
		"Ce-Specversion": {"1.0"}, "Ce-Type": {"quota.saturation"}, "Ce-Source": {"/gateway/7"},
		"Ce-Id": {fmt.Sprint(e["connectionId"], e["time"])},
	}
}

// post sends a body of events with those headers.
func (o operator) post(contentType, body string, header http.Header) {
	o.t.Helper()
	r, err := http.NewRequestWithContext(deadline(o.t), "POST", o.http+apiPath("events"), strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	r.Header.Set("Content-Type", contentType)
	c := client
	if strings.HasSuffix(contentType, "msgpack") {
		c = &http.Client{Transport: judges.RoundTripper} // the judge reads JSON alone
	}
	answer, err := c.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 200 {
		o.t.Fatalf("%s: %s", contentType, answer.Status)
	}
}

// A gateway forwards the headers that it got, in whatever way it likes, and need
// not know what they mean: the meters are those of readings that somebody made
// out of them.
func TestHeadersMeanTheSameHoweverTheyCome(t *testing.T) {
	o := newOperator(t)
	nc := brokertest.Connect(t, o.nats)
	names := slices.Sorted(maps.Keys(carriers))
	o.codexPool("team", append([]string{"plain"}, names...), "alice 50", "bob 50")
	began := ago(hours)
	reset := began + 3*hours
	say := func(at int64, fiveHour string) {
		for _, id := range names {
			e := object{"connectionId": id, "time": at, "status": 200, "headers": codexHeaders(fiveHour, reset)}
			if strings.HasPrefix(id, "nats") {
				e["provider"] = "codex" // the others leave it to the pool
			}
			carriers[id](o, nc, e)
		}
		plain := reading("plain", "weekly", "31", reset+48*hours, at)
		plain["readings"] = append(plain["readings"].([]object),
			object{"window": "5h", "usedPercent": fiveHour, "resetAt": reset},
			object{"window": "5h", "scope": "codex-spark", "usedPercent": "7.5"})
		o.consume(plain)
	}
	say(began, "10")
	for _, id := range append(names, "plain") {
		o.consume(
			used("alice", id, "tokens", "900", began+minutes),
			used("bob", id, "tokens", "100", began+minutes))
	}
	say(began+2*minutes, "70")

	signals := o.signals("team")
	want := signals["plain"]
	if diff := cmp.Diff([]object{
		{
			"window": "5h", "usedPercent": 70.0, "resetAt": rfc(reset), "observedAt": rfc(began + 2*minutes),
			"attributed": 60.0, "unattributed": 10.0, "drift": 10.0, "signal": "fresh",
		},
		{
			"window": "5h", "scope": "codex-spark", "usedPercent": nil, "resetAt": nil, "observedAt": rfc(began + 2*minutes),
			"attributed": nil, "unattributed": nil, "drift": nil, "signal": "none",
		},
		{
			"window": "weekly", "usedPercent": 31.0, "resetAt": rfc(reset + 48*hours), "observedAt": rfc(began + 2*minutes),
			"attributed": 0.0, "unattributed": 31.0, "drift": 31.0, "signal": "fresh",
		},
	}, want); diff != "" {
		t.Errorf("from readings (- want, + got):\n%s", diff)
	}
	for _, id := range names {
		if diff := cmp.Diff(want, signals[id]); diff != "" {
			t.Errorf("%s (- as from readings, + got):\n%s", id, diff)
		}
		v := o.judge("alice", account(id), began+2*minutes)
		if d := v.Dimensions[0]; d.ProviderUsed != "70" || d.ResetAt != rfc(reset) {
			t.Errorf("%s: the provider says %s until %s", id, d.ProviderUsed, d.ResetAt)
		}
	}
	if got := o.judge("alice", object{"pool": "team"}, began+2*minutes).Dimensions[0]; got.Consumed.String() != fmt.Sprint(54*len(signals)) {
		t.Errorf("alice has %s points of all accounts, want 54 of each", got.Consumed)
	}
}

// A refused response is forwarded like any other. Claude says which window is
// used up, and when it starts anew, though its claim speaks of seven days.
func TestARefusedResponseIsForwarded(t *testing.T) {
	o := newOperator(t)
	o.send("POST", apiPath("pools"), object{
		"id": "team", "name": "team", "provider": "claude", "connectionIds": []string{"claude-1"}, "allocations": shares(t, "alice 100"),
	})
	at := ago(minutes)
	reset := at + 2*hours
	o.consume(object{
		"type": "quota.saturation", "connectionId": "claude-1", "time": at, "status": 429, "headers": object{
			"anthropic-ratelimit-unified-status":               "rejected",
			"anthropic-ratelimit-unified-representative-claim": "seven_day",
			"anthropic-ratelimit-unified-reset":                (at + 100*hours) / 1000,
			"anthropic-ratelimit-unified-5h-status":            "rejected",
			"anthropic-ratelimit-unified-5h-utilization":       "0.98",
			"anthropic-ratelimit-unified-5h-reset":             reset / 1000,
			"anthropic-ratelimit-unified-7d-status":            "allowed_warning",
			"anthropic-ratelimit-unified-7d-utilization":       "0.81",
			"anthropic-ratelimit-unified-7d-reset":             (at + 100*hours) / 1000,
			"retry-after":                                      "360000",
		},
	})
	v := o.mustJudge("alice", account("claude-1"), at, "block global-saturated until "+rfc(reset))
	o.mustHavePoints(v, "0", "100", "100")
	if weekly := v.Dimensions[1]; weekly.ProviderUsed != "81" || weekly.ResetAt != rfc(at+100*hours) {
		t.Errorf("of the week %s are used until %s", weekly.ProviderUsed, weekly.ResetAt)
	}
	o.mustJudge("alice", account("claude-1"), reset, "allow ok")
}

// A reset that is a bare number is an instant of OpenRouter's and a wait of
// Azure's. The event's provider tells, and if it names none, the pool's.
func TestTheProviderTellsWhatANumberMeans(t *testing.T) {
	o := newOperator(t)
	connections := []string{"of-the-pool", "of-the-event"}
	o.send("POST", apiPath("pools"), object{"id": "team", "name": "team", "provider": "openrouter", "connectionIds": connections})
	at := ago(minutes)
	headers := func(reset int64) object {
		return object{"X-RateLimit-Limit": 100, "X-RateLimit-Remaining": 40, "X-RateLimit-Reset": reset}
	}
	o.consume(
		object{"type": "quota.saturation", "connectionId": "of-the-pool", "time": at, "headers": headers(at + hours)},
		object{"type": "quota.saturation", "connectionId": "of-the-event", "time": at, "headers": headers(7200), "provider": "azure"},
	)
	signals := o.signals("team")
	for id, reset := range map[string]int64{"of-the-pool": at + hours, "of-the-event": at + 2*hours} {
		if list := signals[id]; len(list) != 1 || list[0]["window"] != "rate" || list[0]["usedPercent"] != 60.0 || list[0]["resetAt"] != rfc(reset) {
			t.Errorf("%s shows %v, want 60 until %s", id, list, rfc(reset))
		}
	}
}
