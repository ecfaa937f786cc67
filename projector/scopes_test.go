package projector_test

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
)

// saysOf publishes a weekly reading of a scope; more is what follows it.
func (s *scene) saysOf(scope, more string) {
	s.Helper()
	s.publish("quota.saturation", fmt.Sprintf(`{"connectionId":"c","readings":[{"window":"weekly","scope":%q,"usedPercent":1%s}]}`, scope, more))
}

// TestScopesAreBounded: every meter is looked at by every event of its connection.
// What comes while as many stand as fit is counted, and the windows of all models
// go on.
func TestScopesAreBounded(t *testing.T) {
	s := newScene(t)
	for i := range 100 {
		s.saysOf(fmt.Sprintf("model %d", i), "")
	}
	s.publish("quota.saturation", `{"connectionId":"c","readings":[{"window":"weekly","usedPercent":5},{"window":"weekly","scope":"model 3","usedPercent":7}]}`)
	if n := len(s.Signals(s.now)); n != 65 {
		t.Errorf("%d signals, want 64 scopes and the window of all models", n)
	}
	if got := s.Counts().ByProblem[4]; projector.Problems[4] != "scope" || got != 36 {
		t.Errorf("%d readings of %q are counted as not taken in, want 36", got, projector.Problems[4])
	}
}

// TestScopesGiveWay: when there is no room for a scope, the longest silent of
// those of which nothing is known any more gives its place, and no other.
func TestScopesGiveWay(t *testing.T) {
	s := newScene(t)
	s.publish("quota.saturation", `{"connectionId":"c","readings":[{"window":"weekly","usedPercent":5}]}`) // never gives way
	s.now++
	s.saysOf("ends late", fmt.Sprintf(`,"resetAt":%d`, s.now+7_200_000))
	s.now++
	for i := range 62 {
		s.now += int64((i + 1) % 2) // two at each instant
		s.saysOf(fmt.Sprintf("made up %02d", 61-i), "")
	}
	s.saysOf("made up 61", "") // again: the last now
	cut(t, s.State, s.store)
	has := func(scope string, want bool) {
		t.Helper()
		_, got := s.Meters()[projector.MeterName{Connection: "c", Window: 3, Scope: scope}]
		if got != want || len(s.Meters()) != 64 {
			t.Errorf("of %d meters, one for %q: %t", len(s.Meters()), scope, got)
		}
	}
	s.now = start + 30_003 // the oldest is over, and begins again
	s.saysOf("made up 60", "")
	has("made up 60", true)
	s.now = start + 30_004
	s.saysOf("real", "") // made up 59 is as old as 58
	has("real", true)
	has("made up 58", false)
	has("made up 59", true)
	s.saysOf("real", "") // is there: nobody gives way
	has("made up 59", true)
	s.saysOf("opus", "")
	has("made up 59", false)
	has("made up 57", true)
	s.saysOf("made up 58", "") // nothing else is over yet
	has("made up 58", false)
	s.now = start + 30_006 // 54 to 57 are over, the last two for longest
	s.saysOf("sonnet", "")
	has("made up 56", false)
	has("made up 54", true)
	s.now = start + 3_600_000
	for _, scope := range []string{"made up 58", "made up 59"} { // before the next cut
		s.saysOf(scope, "")
		has(scope, true)
	}
	has("", true)
	has("ends late", true)
	if got := s.Counts().ByProblem[4]; got != 1 {
		t.Errorf("%d were refused, want the one that came while all stood", got)
	}
	want := finish(t, s.State, s.store)
	same(t, want, finish(t, load(t, s.store), s.store), "loading")
}

// TestScopesGiveWayAlike: which scopes there are does not depend on when the state
// was written and loaded.
func TestScopesGiveWayAlike(t *testing.T) {
	var log []events.Message
	for i := range 400 {
		at := start + int64(i)*700
		log = append(log, events.Message{
			Subject: "quota.saturation", Seq: uint64(i + 1), Time: at,
			Data: fmt.Appendf(nil, `{"connectionId":"c","time":%d,"readings":[{"window":"daily","scope":"s%d","usedPercent":1}]}`, at-int64(i%7)*400, i*i%257),
		})
	}
	want := plain(t, log)
	if want.Counts.ByOutcome[1] < 200 {
		t.Fatalf("few scopes give way: %+v", want.Counts)
	}
	for size := 1; size < 120; size += 17 {
		store := memstore.New()
		s := load(t, store)
		for rest := log; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			fold(t, s, rest[:min(size, len(rest))], 5)
			cut(t, s, store)
			s = load(t, store)
		}
		same(t, want, finish(t, s, store), fmt.Sprintf("loading after each %d messages", size))
	}
}
