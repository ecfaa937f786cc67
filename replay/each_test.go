package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
)

// each returns the sequences of a range, and what is missing in it.
func (r *rig) each(from, to uint64) string {
	r.t.Helper()
	o := Options{Log: r.log}
	var list []uint64
	missing, err := o.Each(r.within(), from, to, func(m *events.Message) error {
		list = append(list, m.Seq)
		return nil
	})
	r.must(err)
	return fmt.Sprint(list, missing)
}

// TestEachMessageOfARange, once and in its order, and what the log does not have.
func TestEachMessageOfARange(t *testing.T) {
	r := newRig(t)
	check := func(from, to uint64, want string) {
		t.Helper()
		if got := r.each(from, to); got != want {
			t.Errorf("from %d to %d: %s, want %s", from, to, got, want)
		}
	}
	check(1, math.MaxUint64, "[] {0 0 0}")
	for i := range 9 {
		r.use(fmt.Sprint(i), "a", 1)
	}
	check(1, math.MaxUint64, "[1 2 3 4 5 6 7 8 9] {0 0 0}")
	check(3, 5, "[3 4 5] {0 0 0}")
	check(9, 9, "[9] {0 0 0}")
	check(10, 12, "[] {0 0 0}")
	check(5, 4, "[] {0 0 0}")
	stream, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	r.must(stream.Purge(t.Context(), jetstream.WithPurgeSequence(3)))
	r.must(errors.Join(stream.DeleteMsg(t.Context(), 5), stream.DeleteMsg(t.Context(), 8), stream.DeleteMsg(t.Context(), 9)))
	check(1, math.MaxUint64, "[3 4 6 7] {5 1 9}")
	check(4, 6, "[4 6] {1 5 5}")
	check(8, 9, "[] {2 8 9}")
	r.must(stream.Purge(t.Context()))
	check(2, math.MaxUint64, "[] {8 2 9}")
}

// TestReadingGivesWay as folding does, and ends with the error of who waits or reads.
func TestReadingGivesWay(t *testing.T) {
	r := newRig(t)
	for i := range 300 {
		r.use(fmt.Sprint(i), "a", 1)
	}
	paused, read, enough := 0, 0, errors.New("enough")
	o := Options{Log: r.log, Pause: func(context.Context) error {
		paused++
		return nil
	}}
	fn := func(*events.Message) error {
		if read++; read == 300 {
			return enough
		}
		return nil
	}
	if _, err := o.Each(r.within(), 1, 300, fn); !errors.Is(err, enough) || paused != 3 {
		t.Errorf("paused %d times: %v", paused, err)
	}
	o.Pause = func(context.Context) error { return enough }
	if _, err := o.Each(r.within(), 1, 300, fn); !errors.Is(err, enough) || read != 300 {
		t.Errorf("read %d: %v", read, err)
	}
}
