package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/ingest/natsusers"
)

// mirror is where a gateway tries to have others write what it may not.
type mirror struct {
	operator
	gateway *nats.Conn
	js      jetstream.JetStream // of the gateway
	log     jetstream.Stream    // for who may read it
}

// TestReflections has a gateway publish what may come back as something else: with reply
// subjects of others, and with headers that the broker follows. What the log then has is
// listed. Whatever that is, the configuration is what it was, and is written afterwards.
func TestReflections(t *testing.T) {
	datadriven.RunTest(t, "testdata/reflections.txt", func(t *testing.T, d *datadriven.TestData) string {
		m := newMirror(t, d.Cmd)
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			before := m.mustCall("GET", apiPath("pools", "team"), "")
			fmt.Fprintf(&out, "%s\n    %s\n", strings.TrimSpace(line), m.reflect(strings.TrimSpace(line)))
			if now := m.mustCall("GET", apiPath("pools", "team"), ""); now != before {
				t.Errorf("%s: the pool is %s, and was %s", line, now, before)
			}
			m.send("PATCH", apiPath("pools", "team"), object{"name": "after " + strings.TrimSpace(line)})
		}
		return out.String()
	})
}

// TestATraceIsNoConfiguration, to whatever subject who has no user has the broker send it,
// which it does in its own time.
func TestATraceIsNoConfiguration(t *testing.T) {
	m := newMirror(t, "nobody")
	for _, subject := range []string{"quota.config.pool.team", "quota.hold"} {
		before := m.mustCall("GET", apiPath("pools", "team"), "")
		seen, err := m.gateway.SubscribeSync(subject)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.gateway.PublishMsg(&nats.Msg{
			Subject: "quota.consumption", Header: nats.Header{"Nats-Trace-Dest": {subject}}, Data: []byte(`{"apiKeyId":"alice","connectionId":"kimi"}`),
		}); err != nil {
			t.Fatal(err)
		}
		got, err := seen.NextMsgWithContext(deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(got.Data), `{"server":`) {
			t.Errorf("%s: it is no trace: %s", subject, got.Data)
		}
		if err := seen.Unsubscribe(); err != nil {
			t.Error(err)
		}
		m.at(m.marker())
		if now := m.mustCall("GET", apiPath("pools", "team"), ""); now != before {
			t.Errorf("%s: the pool is %s, and was %s", subject, now, before)
		}
		m.send("PATCH", apiPath("pools", "team"), object{"name": "after " + subject})
	}
}

// TestReadersCannotBringBackConfiguration by having the broker send a document that was in
// force once to the subject that it came from: the stored message still says after which
// one it is to come, and that has passed.
func TestReadersCannotBringBackConfiguration(t *testing.T) {
	w := newAtWork(t, natsusers.Want{})
	w.poolOf("team", []string{"kimi"}, "alice 100")
	w.send("PATCH", apiPath("pools", "team"), object{"name": "now"})
	want := w.mustCall("GET", apiPath("pools", "team"), "")
	nc := w.b.As("viewer")
	js := jetStream(t, nc)
	c, err := js.CreateConsumer(deadline(t), "QUOTA", jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, FilterSubject: "quota.config.pool.team"})
	w.must(err)
	w.must(nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.QUOTA."+c.CachedInfo().Name, "quota.config.pool.team", []byte(`{"batch":2,"no_wait":true}`)))
	_, err = js.CreateConsumer(deadline(t), "QUOTA", jetstream.ConsumerConfig{DeliverSubject: "quota.config.pool.team", AckPolicy: jetstream.AckNonePolicy})
	if err == nil || !strings.Contains(err.Error(), "cycle") {
		t.Errorf("what is pushed: %v", err)
	}
	// A second pull ends when the first one is over, and what it sent is in the log.
	got, err := c.FetchNoWait(1)
	w.must(err)
	for range got.Messages() {
	}
	w.at(w.publishAll(w.b.As("ingest")))
	if now := w.mustCall("GET", apiPath("pools", "team"), ""); now != want {
		t.Errorf("the pool is %s, and was %s", now, want)
	}
	w.send("PATCH", apiPath("pools", "team"), object{"name": "later"})
}

// newMirror is a gateway among users, isolated, or where there are none.
func newMirror(t *testing.T, among string) *mirror {
	t.Helper()
	m := new(mirror)
	var reader *nats.Conn
	if among == "nobody" {
		d := newDeciders(t)
		m.operator, m.gateway, reader = d.operator, d.log.Connect(), d.log.Connect()
	} else {
		w := newAtWork(t, natsusers.Want{Gateways: []string{"omni"}, Isolate: among == "isolated"})
		m.operator, m.gateway, reader = w.operator, w.b.As("omni"), w.b.As("admin")
	}
	m.js = jetStream(t, m.gateway)
	m.poolOf("team", []string{"kimi"}, "alice 100")
	var err error
	if m.log, err = jetStream(t, reader).Stream(deadline(t), "QUOTA"); err != nil {
		t.Fatal(err)
	}
	return m
}

// marker is a message in the log. It is there before what is published later.
func (m *mirror) marker() uint64 {
	m.t.Helper()
	ack, err := m.js.Publish(deadline(m.t), "quota.consumption.marker", []byte("{}"))
	if err != nil {
		m.t.Fatal(err)
	}
	return ack.Sequence
}

// reflect publishes a line such as "quota.consumption reply=quota.due Nats-TTL=1h", and
// says what comes of it: what is stored, and what the broker answers.
func (m *mirror) reflect(line string) string {
	m.t.Helper()
	words := strings.Fields(line)
	msg := &nats.Msg{Subject: words[0], Header: nats.Header{}, Data: []byte(`{"apiKeyId":"alice","connectionId":"kimi"}`)}
	inbox, err := m.gateway.SubscribeSync(m.gateway.NewInbox())
	if err != nil {
		m.t.Fatal(err)
	}
	defer inbox.Unsubscribe()
	msg.Reply = inbox.Subject
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		if name == "reply" {
			msg.Reply = value
			continue
		}
		msg.Header.Set(name, value)
	}
	from := m.marker()
	if err := m.gateway.PublishMsg(msg); err != nil {
		m.t.Fatal(err)
	}
	// Questions are answered one after the other, and so are publications; what an answer
	// or an acknowledgement has become is in the log before what is published afterwards.
	if _, err := m.gateway.RequestWithContext(deadline(m.t), "quota.decide", []byte(`{"apiKeyId":"alice","connectionId":"kimi"}`)); err != nil {
		m.t.Fatal(err)
	}
	m.marker()
	said := m.stored(from+1, m.marker())
	if msg.Reply == inbox.Subject {
		said += "; " + m.answer(inbox)
	}
	return said
}

// stored are the messages of the log between two that are not markers.
func (m *mirror) stored(from, to uint64) string {
	m.t.Helper()
	m.at(to)
	var all []string
	for seq := from; seq < to; seq++ {
		got, err := m.log.GetMsg(deadline(m.t), seq)
		if err != nil {
			m.t.Fatal(err)
		}
		if got.Subject != "quota.consumption.marker" {
			all = append(all, fmt.Sprintf("%s %.12s", got.Subject, got.Data))
		}
	}
	if len(all) == 0 {
		return "nothing is stored"
	}
	return "stored: " + strings.Join(all, ", ")
}

// answer is what came to the inbox, before the acknowledgements of what was published later.
func (m *mirror) answer(inbox *nats.Subscription) string {
	if n, _, _ := inbox.Pending(); n == 0 {
		return "not answered"
	}
	got, err := inbox.NextMsgWithContext(deadline(m.t))
	if err != nil {
		return err.Error()
	}
	var ack struct {
		Error *struct{ Description string }
	}
	if err := json.Unmarshal(got.Data, &ack); err != nil {
		return string(got.Data)
	}
	if ack.Error != nil {
		return "refused: " + strings.TrimRight(ack.Error.Description, "0123456789")
	}
	return "acknowledged"
}
