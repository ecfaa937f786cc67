package decider

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// TestAMessageOfAClockThatWasAheadDeletesNothing, though log time never falls again; and
// the cure that the problem names does what it says.
func TestAMessageOfAClockThatWasAheadDeletesNothing(t *testing.T) {
	s := tell(t)
	defer func() { s.end() }()
	s.end()
	s.at(s.now+400*dayMs, tokens("k", 1))
	s.end()
	s.at(s.now, tokens("k", 2))
	want := []string{
		fmt.Sprintf("log time: is %s, more than an hour ahead", quota.FormatInstant(s.now+400*dayMs)),
		"if a broker's was when it stored message 8, take that out of the log, as docs/RETENTION.md says",
	}
	refused := func(r *running) {
		t.Helper()
		x := r.retained()
		if x.Finished || len(x.Plan.Steps) != 0 {
			t.Errorf("%+v", x)
		}
		for _, text := range want {
			if !strings.Contains(x.Error, text) {
				t.Errorf("the problem is %q, want %q in it", x.Error, text)
			}
		}
		state, err := r.State(r.within(), 0, false)
		r.must(err)
		if state.Retention.Problem != x.Error {
			t.Errorf("the state shows %+v", state.Retention)
		}
	}
	s.run(func(r *running) {
		refused(r)
		refused(r)
		if n := strings.Count(r.said.String(), want[1]); n != 1 {
			t.Errorf("said %d times", n)
		}
	})
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(s.state), "snapshots", "*.snapshot"))
	if _, _, n := s.sequences(); n != 9 || len(kept) != 3 || err != nil {
		t.Fatalf("the log has %d messages, want all 9, and snapshots %v, %v", n, kept, err)
	}

	s.without(8)
	want[1] = "else the log has no such message any more, and this program's state has to be folded again"
	s.run(refused)
	mustRemove(t, s.state)
	s.run(func(r *running) {
		if x := r.retained(); !x.Finished || x.Error != "" {
			t.Errorf("cured: %+v", x)
		}
		if got, want := r.monthly(), s.weighs()+2_000; got != want {
			t.Errorf("cured: usage weighs %d, want %d", got, want)
		}
	})
	if _, last, n := s.sequences(); last != 9 || n != 6 {
		t.Errorf("the log has %d messages up to %d", n, last)
	}
}

// TestAPlanIsMadeWhenTheClockIsRight again, although no message came.
func TestAPlanIsMadeWhenTheClockIsRight(t *testing.T) {
	s := tell(t)
	defer func() { s.end() }()
	c := newClock()
	s.change = func(e *Engine) {
		sharing(e)
		c.Store(s.now - dayMs)
		e.now = c.ms
	}
	s.run(func(r *running) {
		r.awaitSaid("if the clock of this machine is wrong, set it")
		c.Store(s.now)
		r.retention.wake()
		r.awaitSaid("retention: done")
		if x := r.retention.outcome(); !x.Finished || x.Error != "" {
			t.Errorf("%+v", x)
		}
	})
}

// TestSnapshotsAskedForDoNotPileUp while log time stands still: beside the newest two
// stays the oldest of their stretch.
func TestSnapshotsAskedForDoNotPileUp(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", sharing)
	var taken []uint64
	for range 6 {
		r.usage(1)
		taken = append([]uint64{r.snapshot().Seq}, taken...)
	}
	got, err := r.snapshots.dir.List()
	r.must(err)
	if want := []uint64{taken[0], taken[1], taken[5]}; !slices.Equal(got, want) {
		t.Errorf("of %v there are %v, want %v", taken, got, want)
	}
	// A plan counts on what it found: nothing goes under it.
	r.retention.turn.Lock()
	r.usage(1)
	r.snapshot()
	if got, err = r.snapshots.dir.List(); len(got) != 4 || err != nil {
		t.Errorf("during a plan there are %v, %v", got, err)
	}
	r.retention.turn.Unlock()
	r.stop()
}

// TestALogThatDropsItsOldestIsShown, as one with an age limit is.
func TestALogThatDropsItsOldestIsShown(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", sharing)
	defer r.stop()
	const why = "max bytes: the log has a limit of 1048576, and drops its oldest messages to make room, pools, plans and settings too: take it away with nats stream edit QUOTA --max-bytes=-1"
	for want, change := range map[string]func(*jetstream.StreamConfig){
		why: func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 },
		"":  func(c *jetstream.StreamConfig) { c.MaxBytes = -1 },
	} {
		r.changeLog(change)
		x := r.retained()
		state, err := r.State(r.within(), 0, false)
		r.must(err)
		if !x.Finished || x.Error != want || state.Retention.Problem != want {
			t.Errorf("it says %q, want %q; %+v", x.Error, want, x)
		}
	}
}

func (l *oldLog) without(seq uint64) {
	l.t.Helper()
	js, err := jetstream.New(l.nc)
	if err != nil {
		l.t.Fatal(err)
	}
	stream, err := js.Stream(l.t.Context(), events.Stream)
	if err == nil {
		err = stream.DeleteMsg(l.t.Context(), seq)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}
