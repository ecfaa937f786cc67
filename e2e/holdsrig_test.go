package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// deciders are two of them over one log, in this process. Questions over NATS go
// to either, as the broker likes; the operator calls the left one.
type deciders struct {
	operator
	log         *brokertest.Broker
	js          jetstream.JetStream
	left, right *replica
}

func newDeciders(t *testing.T) *deciders {
	t.Helper()
	b := brokertest.StartAgain(t)
	js := brokertest.Streams(t, b.Connect())
	left, right := startReplica(t, b.Connect()), startReplica(t, b.Connect())
	return &deciders{
		operator: operator{&process{t: t, nats: b.URL(), http: left.url}},
		log:      b, js: js, left: left, right: right,
	}
}

// connections returns those of that many clients.
func connections(t *testing.T, url string, n int) []*nats.Conn {
	t.Helper()
	list := make([]*nats.Conn, n)
	for i := range list {
		list[i] = brokertest.Connect(t, url)
	}
	return list
}

// reply is all that tests of holds read of an answer.
type reply struct {
	answer
	DecisionID, RequestID string
	Scope, Message        string
	RetryAt               *time.Time
	WouldBlock            bool
	Alternatives          []string
	AsOf                  struct {
		Seq  uint64
		Time time.Time
	}
	Binding    *struct{ Unit, Window, Model string }
	Dimensions []struct {
		Unit, Window                             string
		Consumed, Held, ConsumedTotal, HeldTotal json.Number
	}
}

// said is what was decided, and all that is unusual about it.
func (r reply) said() string {
	text := r.Decision + " " + r.Reason
	if r.Scope != "" {
		text += " of " + r.Scope
	}
	if r.WouldBlock {
		text += ", would block"
	}
	if len(r.Degraded) > 0 {
		text += fmt.Sprint(", degraded ", r.Degraded)
	}
	return text
}

// ample is a wait for the verdict that is over only when something is broken: no
// answer is degraded because the machine is busy.
const ample = 20_000

// hold makes a question that reserves. The fields are such as "requestId", "r-1".
func hold(key, connection string, fields ...any) object {
	q := object{"apiKeyId": key, "connectionId": connection, "reserve": true, "maxWaitMs": ample}
	for i := 0; i < len(fields); i += 2 {
		q[fields[i].(string)] = fields[i+1]
	}
	return q
}

func parseReply(t *testing.T, data []byte) reply {
	t.Helper()
	var r reply
	decode(t, string(data), &r)
	if r.Error != nil {
		t.Errorf("no answer: %s", data)
	}
	return r
}

// askAtOnce sends each question from a client of its own, all in parallel, and
// returns the answers in their order. None may be degraded.
func askAtOnce(t *testing.T, clients []*nats.Conn, qs []object) []reply {
	t.Helper()
	rs := make([]reply, len(qs))
	var all sync.WaitGroup
	for i, q := range qs {
		all.Go(func() {
			rs[i] = parseReply(t, request(t, clients[i], "quota.decide", text(t, q)))
			if len(rs[i].Degraded) > 0 {
				t.Errorf("%v is answered %+v", q, rs[i])
			}
		})
	}
	all.Wait()
	return rs
}

// times makes copies of a question.
func times(n int, q object) []object {
	list := make([]object, n)
	for i := range list {
		list[i] = maps.Clone(q)
	}
	return list
}

func admitted(rs []reply) (list []reply) {
	for _, r := range rs {
		if r.Decision == "allow" {
			list = append(list, r)
		}
	}
	return list
}

// mustAdmit asks n times at once and counts.
func (d *deciders) mustAdmit(want int, clients []*nats.Conn, q object) []reply {
	d.t.Helper()
	list := admitted(askAtOnce(d.t, clients, times(len(clients), q)))
	if len(list) != want {
		d.t.Errorf("%d of %d are admitted, want %d: %v", len(list), len(clients), want, q)
	}
	return list
}

// settlement is the consumption that ends the request of an answer.
func settlement(key, connection string, r reply, cost object) object {
	return object{"id": "use of " + r.RequestID, "apiKeyId": key, "connectionId": connection, "requestId": r.RequestID, "cost": cost}
}

// publishAll stores the events as one message and returns its sequence. Nobody
// waits for the fold.
func publishAll(t *testing.T, js jetstream.JetStream, events []object) uint64 {
	t.Helper()
	ack, err := js.Publish(deadline(t), "quota.consumption", []byte(text(t, events)))
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}

// reply asks over HTTP.
func (p *process) reply(q object) reply {
	p.t.Helper()
	return parseReply(p.t, []byte(p.mustCall("POST", apiPath("decide"), text(p.t, q))))
}

// mustReply asks over HTTP, and compares with "allow ok" and alike.
func (p *process) mustReply(q object, want string) reply {
	p.t.Helper()
	r := p.reply(q)
	if r.said() != want {
		p.t.Errorf("%v: %s, want %s", q, r.said(), want)
	}
	return r
}

// holding is what the first dimension of the connection says, of the key and of
// all: "consumed+held of consumed+held".
func (p *process) holding(key, connection string, minSeq uint64) string {
	p.t.Helper()
	r := p.reply(object{"apiKeyId": key, "connectionId": connection, "explain": true, "minSeq": minSeq, "maxWaitMs": ample})
	if len(r.Dimensions) == 0 {
		p.t.Fatalf("nothing is known of %s: %+v", connection, r)
	}
	d := r.Dimensions[0]
	return fmt.Sprintf("%s+%s of %s+%s", d.Consumed, d.Held, d.ConsumedTotal, d.HeldTotal)
}

func (p *process) mustHold(key, connection, want string, minSeq ...uint64) {
	p.t.Helper()
	if got := p.holding(key, connection, append(minSeq, 0)[0]); got != want {
		p.t.Errorf("%s on %s has %s, want %s", key, connection, got, want)
	}
}
