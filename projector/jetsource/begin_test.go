package jetsource_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/jetsource"
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

// TestAPurgedLogIsToldInOneLine: what a purge leaves of it is configuration, with a gap
// between any two changes. Who tells of them in a result has them told to nobody else.
func TestAPurgedLogIsToldInOneLine(t *testing.T) {
	r := newRig(t)
	r.publish(9, "a")
	stream, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	for _, seq := range []uint64{2, 4, 5, 7} {
		r.must(stream.DeleteMsg(t.Context(), seq))
	}
	missing := uint64(0)
	o := jetsource.Options{
		Conn: r.nc, Stream: events.Stream, PurgeAge: time.Hour, OnMissing: func(n uint64) { missing += n }, Log: slog.New(slog.NewTextHandler(&r.said, nil)),
	}
	for _, o.Quiet = range []bool{true, false} {
		s, err := jetsource.New(o)
		r.must(err)
		if r.read(s, 5); missing != 4 {
			t.Errorf("%d are counted", missing)
		}
		s.Close()
		missing = 0
		if lines := strings.Count(r.said.String(), "\n"); o.Quiet && lines != 0 || lines > 2 { // they come in one list or two
			t.Errorf("quiet %t: it says\n%s", o.Quiet, &r.said)
		}
	}
	if !strings.Contains(r.said.String(), "from=2") || !strings.Contains(r.said.String(), "before=8") {
		t.Errorf("it says\n%s", &r.said)
	}
}
