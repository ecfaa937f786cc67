package jetsource_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/jetsource"
)

// patient is a source that waits so long for a log that does not answer.
func (r *rig) patient(patience time.Duration) *jetsource.Source {
	r.t.Helper()
	s, err := jetsource.New(jetsource.Options{
		Conn: r.nc, Stream: events.Stream, After: projector.Position{}, Patience: patience, Log: slog.New(slog.DiscardHandler),
	})
	r.must(err)
	r.t.Cleanup(s.Close)
	return s
}

// TestALogThatStaysAwayIsGivenUp, in the middle of the reading and before it.
func TestALogThatStaysAwayIsGivenUp(t *testing.T) {
	r := newRig(t)
	r.publish(5, "a")
	reading, fresh := r.patient(time.Hour), r.patient(time.Hour)
	r.read(reading, 5)
	r.halt()
	for _, s := range []*jetsource.Source{reading, fresh} { // a shorter one would be over when the machine is busy
		s.Waited(time.Hour - 50*time.Millisecond)
	}
	r.fails(reading, jetsource.ErrAway)
	r.fails(fresh, jetsource.ErrAway)
	r.start()
}

// TestALogThatComesBackIsReadOn: patience is for one absence, and is whole again when
// something was read; and who set none waits for ever.
func TestALogThatComesBackIsReadOn(t *testing.T) {
	r := newRig(t)
	r.publish(5, "a")
	s := r.patient(time.Hour)
	s.Waited(time.Hour - 20*time.Second)
	r.halt()
	r.start()
	r.read(s, 5)
	if left := s.Waited(0); left != 0 {
		t.Errorf("%s count for the next absence", left)
	}
	forever := r.patient(0)
	r.halt()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := forever.Next(ctx); err == nil || ctx.Err() == nil {
		t.Errorf("without a bound it ended with %v", err)
	}
	r.start()
}
