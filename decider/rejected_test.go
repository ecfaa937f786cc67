package decider

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
)

// What others put into the stream of rejected events hides none of them, and is
// said.
func TestStrayMessagesHideNoRejectedEvent(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir(), nil)
	for subject, body := range map[string]string{
		"quota.rejected.stray": "not a record", "quota.rejected.99.0": `{"stream":"QUOTA","seq":1}`,
	} {
		_, err := r.Publish(r.within(), subject, "", []byte(body))
		r.must(err)
	}
	seq := r.publish("quota.consumption", "not an event")
	list := r.rejected(3)
	if len(list) != 1 || list[0].Seq != seq {
		t.Errorf("rejected: %+v, want event %d alone", list, seq)
	}
	if !strings.Contains(r.said.String(), "quota.rejected.stray") {
		t.Errorf("the log does not name the stray message: %s", r.said.String())
	}
}

// rejected waits until QUOTA_REJECTED has stored n messages and lists them.
// What a plain subscriber sees may not be stored yet, so a consumer counts.
func (r *running) rejected(n int) []events.Rejected {
	r.t.Helper()
	consumer, err := r.js.OrderedConsumer(r.within(), events.RejectedStream, jetstream.OrderedConsumerConfig{})
	r.must(err)
	messages, err := consumer.Messages()
	r.must(err)
	defer messages.Stop()
	for range n {
		_, err := messages.Next(jetstream.NextContext(r.within()))
		r.must(err)
	}
	list, total, err := r.Rejected(r.within(), 0, 100)
	r.must(err)
	if total != n {
		r.t.Fatalf("%d rejected, want %d: %+v", total, n, list)
	}
	return list
}
