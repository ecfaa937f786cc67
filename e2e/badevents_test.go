package e2e

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/vmihailenco/msgpack/v5"
)

// badEvent is one message that cannot be folded, and what has to be said of it.
type badEvent struct {
	name    string
	subject string // "" = quota.consumption
	header  nats.Header
	data    string
	reason  string
	words   string // in the message: the field, most of all
}

// with is an event that is right but for some more fields.
func with(fields string) string {
	return `{"apiKeyId":"a","connectionId":"c",` + fields + `}`
}

func packed(t *testing.T, doc any) string {
	t.Helper()
	data, err := msgpack.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func badEvents(t *testing.T) []badEvent {
	t.Helper()
	cost := func(tokens any) string {
		return packed(t, object{"apiKeyId": "a", "connectionId": "c", "cost": object{"tokens": tokens}})
	}
	marked := nats.Header{"Quota-Config": {"put"}, "Nats-TTL": {"never"}}
	return []badEvent{
		{name: "nothing", data: "", reason: "undecodable"},
		{name: "half a document", data: `{"apiKeyId":"a"`, reason: "undecodable"},
		{name: "text", data: "hello", reason: "undecodable"},
		{name: "half of msgpack", data: "\x82\xa8apiKeyId\xa1a", reason: "undecodable"},
		{name: "JSON that claims to be msgpack", header: nats.Header{"Content-Type": {"application/msgpack"}}, data: with(`"id":"i"`), reason: "undecodable"},
		{name: "two documents", data: with(`"id":"i"`) + `{}`, reason: "undecodable"},
		{name: "a name twice", data: with(`"model":"a","model":"b"`), reason: "undecodable", words: "model"},
		{name: "no UTF-8", data: with("\"model\":\"\xff\""), reason: "undecodable"},
		{name: "null", data: "null", reason: "invalid"},
		{name: "a number", data: "42", reason: "invalid"},
		{name: "an empty array", data: "[]", reason: "invalid"},
		{name: "an array of 1,001", data: "[" + strings.Repeat(with(`"partial":true`)+",", 1000) + with(`"partial":true`) + "]", reason: "invalid", words: "1000"},
		{name: "no key", data: `{"connectionId":"c"}`, reason: "invalid", words: "apiKeyId"},
		{name: "no connection", data: `{"apiKeyId":"a"}`, reason: "invalid", words: "connectionId"},
		{name: "key of another type", data: `{"apiKeyId":5,"connectionId":"c"}`, reason: "invalid", words: "apiKeyId"},
		{name: "empty id", data: `{"apiKeyId":"","connectionId":"c"}`, reason: "invalid", words: "apiKeyId"},
		{name: "id of 257 bytes", data: fmt.Sprintf(`{"apiKeyId":"%s","connectionId":"c"}`, strings.Repeat("x", 257)), reason: "invalid", words: "apiKeyId"},
		{name: "id with a control character", data: with(`"id":"a\u0007b"`), reason: "invalid", words: "id"},
		{name: "cost of another type", data: with(`"cost":[1]`), reason: "invalid", words: "cost"},
		{name: "unknown cost", data: with(`"cost":{"token":1}`), reason: "invalid", words: "cost.token"},
		{name: "negative amount", data: with(`"cost":{"tokens":-1}`), reason: "invalid", words: "cost.tokens"},
		{name: "bare NaN", data: with(`"cost":{"tokens":NaN}`), reason: "undecodable"},
		{name: "quoted NaN", data: with(`"cost":{"tokens":"NaN"}`), reason: "invalid", words: "cost.tokens"},
		{name: "msgpack NaN", data: cost(math.NaN()), reason: "invalid", words: "cost.tokens"},
		{name: "msgpack infinity", data: cost(math.Inf(1)), reason: "invalid", words: "cost.tokens"},
		{name: "1e400", data: with(`"cost":{"tokens":1e400}`), reason: "invalid", words: "cost.tokens"},
		{name: "1e999999999", data: with(`"cost":{"tokens":1e999999999}`), reason: "invalid", words: "cost.tokens"},
		{name: "quoted 1e999999999", data: with(`"cost":{"tokens":"1e999999999"}`), reason: "invalid", words: "cost.tokens"},
		{name: "40 digits", data: with(`"cost":{"usd":` + strings.Repeat("9", 40) + `}`), reason: "invalid", words: "cost.usd"},
		{name: "time in 1970", data: with(`"time":1234`), reason: "invalid", words: "time"},
		{name: "time in seconds", data: with(`"time":1790100751`), reason: "invalid", words: "time"},
		{name: "no time", data: with(`"time":"yesterday"`), reason: "invalid", words: "time"},
		{name: "time without zone", data: with(`"time":"2026-01-02T03:04:05"`), reason: "invalid", words: "time"},
		{name: "usage that expires", header: nats.Header{"Nats-TTL": {"1h"}}, data: with(`"id":"i"`), reason: "ttl-not-allowed", words: "Nats-TTL"},
		{name: "usage that never expires", header: nats.Header{"Nats-TTL": {"never"}}, data: with(`"id":"i"`), reason: "ttl-not-allowed", words: "Nats-TTL"},
		{name: "unknown window", subject: "quota.saturation", data: `{"connectionId":"c","readings":[{"window":"2h","usedPercent":5}]}`, reason: "invalid", words: "readings[0].window"},
		{name: "refund without reason", subject: "quota.adjustment", data: with(`"cost":{"usd":-1}`), reason: "invalid", words: "reason"},
		{name: "release without request", subject: "quota.release", data: `{"apiKeyId":"a"}`, reason: "invalid", words: "requestId"},
		{name: "unknown configuration", subject: "quota.config.owner.x", header: marked, data: "{}", reason: "unknown-subject", words: "quota.config.owner.x"},
		{name: "configuration in the middle", subject: "quota.config.pool.a.b", header: marked, data: "{}", reason: "unknown-subject", words: "quota.config.pool.a.b"},
		{name: "unmarked pool", subject: "quota.config.pool.x", data: `{"id":"x","name":"X","provider":"p","connectionIds":["x"]}`, reason: "config-unmarked", words: "Quota-Config"},
		{name: "empty body is no deletion", subject: "quota.config.pool.team", data: "", reason: "config-unmarked"},
		{name: "pool under another name", subject: "quota.config.pool.x", header: marked, data: `{"id":"y","name":"Y","provider":"p","connectionIds":["y"]}`, reason: "config-invalid", words: "id"},
		{name: "pool with a connection of another", subject: "quota.config.pool.x", header: marked, data: `{"id":"x","name":"X","provider":"custom","connectionIds":["conn:1"]}`, reason: "config-invalid", words: "conn:1"},
		{name: "plan with an unknown unit", subject: "quota.config.plan.x", header: marked, data: `{"connectionId":"x","dimensions":[{"unit":"euro","window":"5h","limit":1}]}`, reason: "config-invalid", words: "dimensions[0].unit"},
		{name: "configuration that expires", subject: "quota.config.pool.x", header: nats.Header{"Quota-Config": {"put"}, "Nats-TTL": {"1h"}}, data: `{"id":"x","name":"X","provider":"p","connectionIds":["x"]}`, reason: "ttl-not-allowed"},
		{name: "an array of configuration", subject: "quota.config.pool.x", header: marked, data: `[{"id":"x","name":"X","provider":"p","connectionIds":["x"]}]`, reason: "config-invalid"},
	}
}

// send publishes the message and returns its sequence.
func (e *badEvent) send(t *testing.T, v *victim) uint64 {
	t.Helper()
	m := nats.NewMsg("quota.consumption")
	if e.subject != "" {
		m.Subject = e.subject
	}
	m.Data, m.Header = []byte(e.data), e.header
	began := time.Now()
	ack, err := v.js.PublishMsg(deadline(t), m)
	if err != nil {
		t.Fatal(err)
	}
	v.at(ack.Sequence)
	// Far more than it takes, and far less than to spell out a number of 10⁹
	// digits.
	if took := time.Since(began); took > patience/2 {
		t.Errorf("it took %s", took)
	}
	return ack.Sequence
}

func TestBadEventsAreRejectedAndCounted(t *testing.T) {
	v := newVictim(t)
	rows := badEvents(t)
	failed := 0
	for i := range rows {
		e := &rows[i]
		if failed == 3 {
			t.Fatal("enough: each row that fails may wait long")
		}
		ok := t.Run(e.name, func(t *testing.T) {
			line := fmt.Sprintf("quotashare_rejected_total{reason=%q}", e.reason)
			before := v.metric(t, line)
			seq := e.send(t, v)
			r := v.awaitRejection(t)
			if r.Seq != seq || r.Index != 0 || r.Reason != e.reason || !strings.Contains(r.Message, e.words) || r.Message == "" {
				t.Errorf("message %d: %+v; want reason %s and a message with %q", seq, r, e.reason, e.words)
			}
			if string(r.Data) != e.data {
				t.Errorf("the record has the data %q", r.Data)
			}
			if after := v.metric(t, line); after != before+1 {
				t.Errorf("the counter went from %d to %d", before, after)
			}
			v.mustGoOn(t)
		})
		if !ok {
			failed++
		}
	}
	v.mustHaveRejected(t, len(rows))
	if pools := v.pools(t); pools != onlyTeam {
		t.Errorf("the pools are %s", pools)
	}
}

// mustHaveRejected counts what QUOTA_REJECTED has: one message for each event.
func (v *victim) mustHaveRejected(t *testing.T, want int) {
	t.Helper()
	s, err := v.js.Stream(deadline(t), "QUOTA_REJECTED")
	if err != nil {
		t.Fatal(err)
	}
	// A subscriber sees a record before the stream has stored it; a consumer after.
	all, err := s.CreateConsumer(deadline(t), jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
	if err != nil {
		t.Fatal(err)
	}
	for n := range want {
		if _, err := all.Next(jetstream.FetchMaxWait(patience)); err != nil {
			t.Fatalf("QUOTA_REJECTED has %d messages, want %d: %v", n, want, err)
		}
	}
	info, err := s.Info(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := info.State; got.Msgs != uint64(want) || got.NumSubjects != uint64(want) {
		t.Errorf("QUOTA_REJECTED has %d messages on %d subjects, want %d", got.Msgs, got.NumSubjects, want)
	}
	var doc struct{ Total int }
	decode(t, v.mustCall("GET", "/api/quota/rejected", ""), &doc)
	if doc.Total != want {
		t.Errorf("the API counts %d rejected, want %d", doc.Total, want)
	}
}

// In a well-formed array every event stands for itself.
func TestBadEventsInAnArray(t *testing.T) {
	v := newVictim(t)
	good := traffic(dice(t), "among-", 2)
	e := badEvent{data: "[" + text(t, good[0]) + `,null,` + with(`"cost":{"tokens":-1}`) + "," + text(t, good[1]) + "]"}
	seq := e.send(t, v)
	for _, want := range []rejection{
		{Seq: seq, Index: 1, Reason: "invalid", Data: []byte("null")},
		{Seq: seq, Index: 2, Reason: "invalid", Data: []byte(with(`"cost":{"tokens":-1}`))},
	} {
		got := v.awaitRejection(t)
		if got.Seq != want.Seq || got.Index != want.Index || got.Reason != want.Reason || string(got.Data) != string(want.Data) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	v.good = append(v.good, good...)
	v.mustGoOn(t)
	v.mustHaveRejected(t, 2)
}

func TestAnIDWithOtherContentIsAConflict(t *testing.T) {
	v := newVictim(t)
	v.good = traffic(dice(t), "same-", 1)
	v.at(publish(t, v.js, v.good))
	other := v.good[0]
	other.Cost.Tokens++
	seq := publish(t, v.js, []usage{other})
	if r := v.awaitRejection(t); r.Seq != seq || r.Reason != "id-conflict" || !strings.Contains(r.Message, other.ID) {
		t.Errorf("message %d: %+v", seq, r)
	}
	if got := v.at(publish(t, v.js, v.good)).Counts; got.Duplicates != 1 || got.Rejected != 1 {
		t.Errorf("the same once more: %+v", got)
	}
	v.mustGoOn(t)
	v.mustHaveRejected(t, 1)
}

// A fast clock is put right and counted; it rotates no window away.
func TestATimeFarAheadIsClamped(t *testing.T) {
	v := newVictim(t)
	line := `quotashare_events_total{outcome="clamped"}`
	e := badEvent{data: fmt.Sprintf(`{"apiKeyId":"fast","connectionId":"conn:0","time":%d,"cost":{"tokens":7}}`, time.Now().AddDate(1, 0, 0).UnixMilli())}
	e.send(t, v)
	if n := v.metric(t, line); n != 1 {
		t.Errorf("%d events are clamped", n)
	}
	a := parseAnswer(t, request(t, v.nc, "quota.decide", `{"apiKeyId":"fast","connectionId":"conn:0","explain":true}`))
	if len(a.Dimensions) != 2 || a.Dimensions[1].Consumed != "7" {
		t.Errorf("it is not counted at present: %+v", a)
	}
	v.mustHaveRejected(t, 0)
}

// The broker acknowledges to whatever subject the message names, so a gateway
// can make it write into the configuration. What arrives there is no document.
func TestAnAcknowledgementIsNoConfiguration(t *testing.T) {
	for _, subject := range []string{"quota.config.pool.x", "quota.config.pool.team", "quota.config.settings", "quota.config.plan.conn%3A0"} {
		t.Run(subject, func(t *testing.T) {
			v := newVictim(t)
			v.good = traffic(dice(t), "acked-elsewhere-", 1)
			if err := v.nc.PublishRequest("quota.consumption", subject, encode(t, v.good)); err != nil {
				t.Fatal(err)
			}
			if r := v.awaitRejection(t); r.Subject != subject || r.Reason != "config-unmarked" || !strings.Contains(string(r.Data), `"stream":"QUOTA"`) {
				t.Errorf("%+v, data %s", r, r.Data)
			}
			v.mustGoOn(t)
			v.mustHaveRejected(t, 1)
			if pools := v.pools(t); pools != onlyTeam {
				t.Errorf("the pools are %s", pools)
			}
		})
	}
}

// A message beyond max_payload ends at the broker; whoever sent it is told.
func TestTwoMegabytes(t *testing.T) {
	v := newVictim(t)
	huge := with(`"model":"` + strings.Repeat("m", 2<<20) + `"`)
	if err := v.nc.Publish("quota.consumption", []byte(huge)); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("the client library says %v", err)
	}
	raw := dialRaw(t, v.nats)
	raw.send(fmt.Sprintf("PUB quota.consumption %d\r\n", len(huge)))
	if said := raw.line(); !strings.Contains(said, "Maximum Payload Violation") {
		t.Errorf("the server says %q", said)
	}
	v.mustGoOn(t)
	v.mustHaveRejected(t, 0)
}
