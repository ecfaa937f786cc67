package spool

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A record that a crash cut short, wherever, was never answered for.
func TestACutAnywhere(t *testing.T) {
	s := newStage(t, Options{})
	s.log.set(true)
	s.keep("a")
	path := s.path(1)
	whole, err := os.ReadFile(path)
	s.must(err)
	s.keep("b")
	both, err := os.ReadFile(path)
	s.must(err)
	for n := range len(both) {
		s.must(os.WriteFile(path, both[:n], 0o600))
		s.again()
		want := 0
		if n >= len(whole) {
			want = 1
		}
		if st := s.Stats(); st.Messages != want || st.Damaged != 0 {
			t.Fatalf("cut at %d of %d: %+v", n, len(both), st)
		}
		if _, err := os.Stat(path); (err != nil) != (n < len(magic)) {
			t.Fatalf("cut at %d, and the file: %v", n, err)
		}
		if n%50 == 0 {
			s.keep("c")
			s.again()
			if st := s.Stats(); st.Messages != want+1 {
				t.Fatalf("cut at %d, and one more: %+v", n, st)
			}
		}
	}
}

// Whatever byte is another one, the other records are brought, and the file is kept.
func TestDamageAnywhere(t *testing.T) {
	s := newStage(t, Options{})
	s.log.set(true)
	var ends []int // of the records
	for _, id := range []string{"a", "b", "c"} {
		s.keep(id)
		data, err := os.ReadFile(s.path(1))
		s.must(err)
		ends = append(ends, len(data))
	}
	sound, err := os.ReadFile(s.path(1))
	s.must(err)
	for n := range sound {
		bad := bytes.Clone(sound)
		bad[n] ^= 1
		s.must(os.WriteFile(s.path(1), bad, 0o600))
		s.again()
		if st := s.Stats(); st.Damaged != 1 {
			t.Fatalf("byte %d: %+v", n, st)
		}
		kept, err := os.ReadFile(s.path(1) + damaged)
		if err != nil || !bytes.Equal(kept, bad) {
			t.Fatalf("byte %d: it is not kept: %v", n, err)
		}
		s.bringAll()
		want := []string{"a", "b", "c"}
		if i, _ := slices.BinarySearch(ends, n+1); n >= len(magic) {
			want = slices.Delete(want, i, i+1)
		}
		s.expect(want...)
		s.log.list = nil
		s.must(os.Remove(filepath.Join(s.o.Dir, drained)))
	}
}

// A segment that is made anew is brought from its start, whatever was brought of the old.
func TestDamageBehindTheCursor(t *testing.T) {
	s := newStage(t, Options{})
	s.log.set(true)
	s.keep("a")
	first := s.parts[0].to
	s.keep("b")
	second := s.parts[0].to
	s.keep("c")
	s.say(cursor{Segment: 1, Offset: first})
	data, err := os.ReadFile(s.path(1))
	s.must(err)
	data[second-1] ^= 1
	s.must(os.WriteFile(s.path(1), data, 0o600))
	for range 2 {
		s.again()
		if st := s.Stats(); st.Messages != 1 {
			t.Errorf("%+v", st)
		}
	}
	s.bringAll()
	s.expect("c")
}

// Only the last segment can have been cut short by a crash.
func TestACutSegmentBeforeTheLast(t *testing.T) {
	s := newStage(t, Options{Segment: 1})
	s.log.set(true)
	s.keep("a")
	s.keep("b")
	data, err := os.ReadFile(s.path(1))
	s.must(err)
	s.must(os.WriteFile(s.path(1), data[:len(data)-1], 0o600))
	s.again()
	if st := s.Stats(); st.Damaged != 1 || st.Messages != 1 {
		t.Errorf("%+v", st)
	}
	s.bringAll()
	s.expect("b")
}

// The age of the oldest grows no older than what was brought last.
func TestTheOldestIsTheNext(t *testing.T) {
	s := newStage(t, Options{})
	s.log.set(true)
	at := theTime
	s.Spool.o.Now = func() time.Time { return at }
	s.keep("a")
	at = at.Add(time.Minute)
	s.keep("b")
	at = at.Add(time.Minute)
	_, err := s.publish("quota.adjustment", "c")
	s.must(err)
	s.log.set(false)
	b, err := s.first()
	s.must(err)
	s.passed(b, 2, true)
	if st := s.Stats(); st.OldestMs != theTime.Add(time.Minute).UnixMilli() || st.Messages != 1 {
		t.Errorf("%+v", st)
	}
}
