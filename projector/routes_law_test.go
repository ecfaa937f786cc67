package projector_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/routing"
)

// TestRoutesOneLaw: who is chosen, who waits and who passes does not depend on
// batches, cuts and restarts.
func TestRoutesOneLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.OneOf(routed(40), crossed(60)).Draw(t, "log")
		want := plain(t, log)
		store := memstore.New()
		s := load(t, store)
		for rest := log; len(rest) > 0; {
			n := rapid.IntRange(1, min(9, len(rest))).Draw(t, "part")
			fold(t, s, rest[:n], rapid.IntRange(1, 5).Draw(t, "run"))
			rest = rest[n:]
			due := s.Due()
			switch rapid.IntRange(0, 2).Draw(t, "then") {
			case 0:
				cut(t, s, store)
			case 1: // restart
				cut(t, s, store)
				s = load(t, store)
				if again := s.Due(); again != due {
					t.Fatalf("due at %d, after a restart at %d", due, again)
				}
			}
		}
		same(t, want, finish(t, s, store), "cutting and restarting")
	})
}

// TestNobodyWaitsWhoMayPass: after each message whoever is the first of a key would
// be refused by every connection, asked for one by one; and so would be the first of
// another want of it, but by those that an earlier one of the key may use. Time brings
// them nothing before the state says so.
func TestNobodyWaitsWhoMayPass(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := projector.NewState(memstore.New())
		log := rapid.OneOf(routed(80), crossed(80)).Draw(t, "log")
		for i := range log {
			fold(t, s, log[i:i+1], 1)
			checkRoutes(t, s, seen)
		}
		// Time alone ends all waits.
		last := log[len(log)-1]
		for n := 0; s.Due() != routing.Never; n++ {
			last = events.Message{Subject: "quota.due", Data: []byte("{}"), Seq: last.Seq + 1, Time: s.Due()}
			fold(t, s, []events.Message{last}, 1)
			checkRoutes(t, s, seen)
			if n > 1_000 {
				t.Fatalf("after %d times %d wait still", n, len(s.Waiting()))
			}
		}
		c := s.Counts().Holds
		seen["granted"] += int(c.Granted)
		seen["timed out"] += int(c.TimedOut)
		seen["left"] += int(c.Left)
	})
	for _, want := range []string{"granted", "timed out", "left", "capacity"} {
		if seen[want] == 0 {
			t.Errorf("nobody was %s, of %v", want, seen)
		}
	}
}

func checkRoutes(t *rapid.T, s *projector.State, seen map[string]int) {
	_, now := s.At()
	waiting := s.Waiting()
	due := int64(routing.Never)
	for i, w := range waiting {
		due = min(due, w.Deadline)
		same := func(x projector.Waiting) bool {
			return x.Pool == w.Pool && x.Key == w.Key && s.WantOf(&x) == s.WantOf(&w)
		}
		if !slices.ContainsFunc(waiting[:i], same) {
			due = min(due, checkWaits(t, s, waiting, i, now, seen))
		}
	}
	if got := s.Due(); got > due || got <= now {
		t.Fatalf("at %d due is %d, want %d\n%+v", now, got, due, waiting)
	}
	c := s.Counts().Holds
	if n := c.Waited - c.Granted - c.TimedOut - c.Left; int(n) != len(waiting) {
		t.Fatalf("%+v, and %d wait", c, len(waiting))
	}
	if n := c.Opened - c.Settled - c.Released - c.Expired - c.Replaced - c.Withdrawn; n != uint64(s.Holds().Open) {
		t.Fatalf("%+v, and %d are open", c, s.Holds().Open)
	}
	for _, p := range s.Pools() {
		if err := routing.CheckCredits(s.Credits(p.Doc.ID), len(p.Doc.Connections)); err != nil {
			t.Fatalf("pool %s: %v", p.Doc.ID, err)
		}
	}
}

// checkWaits asks for each connection that the i-th waits for, and returns when the
// first of them comes free.
func checkWaits(t *rapid.T, s *projector.State, waiting []projector.Waiting, i int, now int64, seen map[string]int) int64 {
	w := &waiting[i]
	free := int64(routing.Never)
	asked := make([]projector.Asked, 1)
	for _, c := range w.Candidates {
		s.Gather([]questions.Question{{
			APIKeyID: w.Key, ConnectionID: c, Model: w.Model, Estimate: w.Amounts, Reserve: true, RequestID: "another",
		}}, now, asked)
		a := asked[0].Facts.Decide(now)
		seen[a.Reason.String()]++
		if a.RetryMs >= 0 && !a.Allowed() {
			free = min(free, now+a.RetryMs)
		}
		if !a.Allowed() {
			continue
		}
		// An earlier one waits in the same backlog, or in that of the connection's pool.
		keeps := func(x projector.Waiting) bool { return x.Key == w.Key && slices.Contains(x.Candidates, c) }
		if !slices.ContainsFunc(waiting[:i], func(x projector.Waiting) bool { return x.Pool == w.Pool && keeps(x) }) &&
			!slices.ContainsFunc(waiting, func(x projector.Waiting) bool { return x.Pool == s.Plan(c).Pool && x.Pool != w.Pool && keeps(x) }) {
			t.Fatalf("at %d %s waits, and %s lets it pass: %s\n%+v", now, w.Key, c, a.Reason, waiting)
		}
	}
	return free
}

// TestPlacesAreHard: where a hold is opened there was a place, whoever asked, and
// however.
func TestPlacesAreHard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := projector.NewState(memstore.New())
		log := routed(40).Draw(t, "log")
		before := map[string]int64{}
		for i := range log {
			fold(t, s, log[i:i+1], 1)
			now := map[string]int64{}
			for c, n := range flying(t, s) {
				if p, ok := s.Pool(s.Plan(c).Pool); ok && p.Doc.Mode == 0 && n > max(before[c], most(&p, c)) {
					t.Fatalf("%s has %d in flight, before there were %d", c, n, before[c])
				}
				now[c] = n
			}
			before = now
		}
	})
}

func flying(t *rapid.T, s *projector.State) map[string]int64 {
	all := map[string]int64{}
	for _, x := range s.OpenHolds() {
		all[x.Connection]++
	}
	s.InFlight(func(c string, n, _ int64) bool {
		if all[c] != n {
			t.Fatalf("%s has %d in flight, and says %d", c, all[c], n)
		}
		return true
	})
	return all
}

// most is how many the connection takes at a time.
func most(p *projector.Pool, connection string) int64 {
	for _, c := range p.Doc.Connections {
		if c.ConnectionID == connection && c.MaxConcurrent > 0 {
			return c.MaxConcurrent
		}
	}
	return 1 << 40
}
