package jetsource_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
)

// TestALogWithoutItsBeginningIsSaid, once, to who reads everything.
func TestALogWithoutItsBeginningIsSaid(t *testing.T) {
	r := newRig(t)
	r.publish(5, "a")
	stream, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	r.must(stream.Purge(t.Context(), jetstream.WithPurgeSequence(4)))
	s := r.source(projector.Position{})
	if got := r.read(s, 2); got[0].Seq != 4 {
		t.Fatalf("it begins at %d", got[0].Seq)
	}
	if n := strings.Count(r.said.String(), "level=ERROR msg=\"messages are missing"); n != 1 || !strings.Contains(r.said.String(), "from=1 before=4") {
		t.Errorf("said %d times:\n%s", n, r.said.String())
	}
}
