package spool

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// Wherever the process is killed while it brings what is kept, all of it is in the log in
// the end, in its order, and is brought no third time.
func TestKilledWhileItBrings(t *testing.T) {
	for _, full := range []bool{false, true} {
		for steps := 0; ; steps++ {
			d := newSmall()
			s := newStage(t, Options{Segment: 500, disk: d})
			s.log.set(true)
			d.room = 2*slotSize + 2000
			ids := s.fill()
			if !full {
				d.room = 1 << 20
			}
			s.log.set(false)
			d.steps = steps
			s.bringUntilKilled(d)
			done := d.steps >= 0
			s.after(d, ids)
			if done {
				break
			}
		}
	}
}

// bringUntilKilled brings what it can, and says the cursor after every message.
func (s *stage) bringUntilKilled(d *small) {
	s.t.Helper()
	for d.steps >= 0 {
		b, err := s.first()
		if err != nil {
			return
		}
		if d.steps < 0 { // it would not have come so far
			return
		}
		taken, err := s.bring(context.Background(), b.p, b.list)
		s.must(err)
		s.passed(b, taken, true)
	}
}

// after starts again, twice, and compares what the log has.
func (s *stage) after(d *small, ids []string) {
	s.t.Helper()
	d.steps = 1 << 30
	s.again()
	left := s.Stats().Events
	s.bringAll()
	got := s.ids()
	repeated := len(got) - len(ids)
	if repeated < 0 || repeated > left || !slices.Equal(once(got), ids) {
		s.t.Fatalf("the log has %q, want %q", got, ids)
	}
	s.again()
	if st := s.Stats(); st.Messages != 0 || !slices.Equal(s.files(), []string{drained}) {
		s.t.Fatalf("after the second start: %+v, %q", st, s.files())
	}
	s.log.set(true)
	s.keep("z") // in no segment that is taken for brought
	s.again()
	s.bringAll()
	s.expect(append(got, "z")...)
}

// once leaves out what was there before, as the fold does.
func once(ids []string) (list []string) {
	for _, id := range ids {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// Wherever it is killed while it keeps messages, with room for them or without, each that
// was answered for is brought, once; one more may be, whose answer was under way.
func TestKilledWhileItKeeps(t *testing.T) {
	for steps := 0; ; steps++ {
		d := newSmall()
		s := newStage(t, Options{Segment: 300, disk: d})
		s.log.set(true)
		d.room, d.steps = 2*slotSize+900, steps
		var kept []string
		for _, id := range []string{"a", "b", "c", "d", "e", "f", "g"} {
			_, err := s.publish("quota.consumption", id)
			if err == nil {
				kept = append(kept, id)
			}
			if err != nil && !errors.Is(err, ErrDiskFull) && d.steps >= 0 {
				t.Fatal(err)
			}
		}
		done := d.steps >= 0
		d.steps = 1 << 30
		s.again()
		s.bringAll()
		got := s.ids()
		if len(got) > len(kept)+1 || !slices.Equal(got[:len(kept)], kept) || s.Stats().Damaged > 0 {
			t.Fatalf("after %d steps the log has %q, want %q", steps, got, kept)
		}
		if done {
			return
		}
	}
}
