package decider

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// crowd opens that many holds of the requests 0, 1, …, and takes the room away: a block
// then looks at each of them for the instant at which it ends.
func (r *running) crowd(n int) {
	r.t.Helper()
	oneLimit(r, int64(n))
	for at := 0; at < n; at += questions.MaxItems {
		var list []string
		for i := at; i < min(n, at+questions.MaxItems); i++ {
			list = append(list, fmt.Sprintf(`{"id":"h-%d","decisionId":"h-%[1]d","apiKeyId":"alice","connectionId":"c","requestId":"%[1]d","estimate":{},"leaseMs":3600000}`, i))
		}
		r.publish("quota.hold", "["+strings.Join(list, ",")+"]")
	}
	if r.open() != n {
		r.t.Fatalf("%d are open, want %d", r.open(), n)
	}
	r.limit("c", 1)
}

// TestWhatIsLargeIsLetGo: of a block among more holds than most ever have, nothing is
// kept for the next question, whoever judged it. Room for a few is.
func TestWhatIsLargeIsLetGo(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	for _, c := range []struct {
		holds int
		kept  bool
	}{{10, true}, {mostListed + 100, false}} {
		r.crowd(c.holds)
		gather := func(a []projector.Asked) {
			r.current.Load().state.Gather([]questions.Question{held("new")}, r.now(), a)
			if a[0].Facts.Decide(a[0].Now).Allowed() || a[0].Facts.Listed() < c.holds {
				t.Fatalf("room for %d, want a block that looked at %d", a[0].Facts.Listed(), c.holds)
			}
		}
		s := new(scratch)
		s.room(1)
		gather(s.asked)
		s.keep(1)
		if kept := s.asked[0].Facts.Listed() > 0; kept != c.kept {
			t.Errorf("%d holds: a question of the view is kept: %v", c.holds, kept)
		}
		x, asked := newPending(), make([]projector.Asked, 1)
		gather(asked)
		x.Asked = asked[0]
		x.disown()
		if kept := x.Asked.Facts.Listed() > 0; kept != c.kept {
			t.Errorf("%d holds: a question of the fold is kept: %v", c.holds, kept)
		}
	}
}

// TestWhatIsLargeIsLetGoWithoutAVerdict: of a renewal, which is looked at once more.
func TestWhatIsLargeIsLetGoWithoutAVerdict(t *testing.T) {
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", nil)
	r.crowd(mostListed + 100)
	for range 8 { // the pool drops some by itself under the race detector
		if got := r.askHurried(held("7"))[0]; got.Allow || len(got.Degraded) != 1 {
			t.Fatalf("answered %+v, want a block without a verdict", got)
		}
		for s := scratches.Get().(*scratch); len(s.asked) > 0; s = scratches.Get().(*scratch) {
			if n := s.asked[0].Facts.Listed(); n > mostListed {
				t.Fatalf("one that is used again has room for %d holds", n)
			}
		}
	}
}
