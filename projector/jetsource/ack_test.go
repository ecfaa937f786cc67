package jetsource

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/events"
)

func TestParseAck(t *testing.T) {
	want := ack{stream: 11, consumer: 7, time: 1_790_000_000_123, pending: 5}
	for _, reply := range []string{
		"$JS.ACK.QUOTA.name.1.11.7.1790000000123456789.5",
		"$JS.ACK.hub.ACCHASH.QUOTA.name.1.11.7.1790000000123456789.5",
		"$JS.ACK._.ACCHASH.QUOTA.name.1.11.7.1790000000123456789.5.token",
	} {
		if got, ok := parseAck(reply); !ok || got != want {
			t.Errorf("%s: %+v %v, want %+v", reply, got, ok, want)
		}
	}
	for _, reply := range []string{
		"", "_INBOX.1", "$JS.ACK.", "$JS.ACK.QUOTA.name.1.11.7.1790000000123456789",
		"$JS.ACK.QUOTA.name.1.x.7.1790000000123456789.5", "$JS.ACK.QUOTA.name.1.-11.7.1790000000123456789.5",
	} {
		if got, ok := parseAck(reply); ok {
			t.Errorf("%q: %+v, want nothing", reply, got)
		}
	}
}

// A delivery that is lost on the way shows in the consumer's own count; what
// follows it must not be taken.
func TestDeliveriesAreContiguous(t *testing.T) {
	s := &session{consumer: 6, wanted: 10}
	var list []events.Message
	var pending uint64
	m := nats.NewMsg("quota.consumption")
	m.Reply = "$JS.ACK.QUOTA.name.1.11.7.1790000000123456789.5"
	if err := s.accept(m, &list, &pending); err != nil || len(list) != 1 || pending != 5 || s.wanted != 9 {
		t.Errorf("the next delivery: %v, %d taken, %d pending, %d wanted", err, len(list), pending, s.wanted)
	}
	m.Reply = "$JS.ACK.QUOTA.name.1.13.9.1790000000123456789.3"
	if err := s.accept(m, &list, &pending); err == nil || len(list) != 1 {
		t.Errorf("delivery 9 after 7: %v, %d taken", err, len(list))
	}
}
