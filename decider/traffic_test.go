package decider

import (
	"testing"

	"github.com/quotashare/quotashare/questions"
)

// TestExplainedAnswersShowTraffic, of whatever they are: what is in flight on the
// connection that they are about, and who waits in its pool, and for how long.
func TestExplainedAnswersShowTraffic(t *testing.T) {
	c := newClock()
	r := start(t, startLog(t, t.TempDir()), t.TempDir()+"/state", func(e *Engine) { e.now = c.ms })
	r.lanes(1, "a")
	r.folded(routed("1"))
	let := r.routing(routed("2"))
	r.awaitQueue("alice:1")
	_, arrived := r.current.Load().state.At()
	c.Store(arrived + 2_000)
	plain := questions.Question{APIKeyID: "bob", ConnectionID: "a", MaxWaitMs: -1}
	route, decide, byPool, elsewhere := impatient("3"), held("3"), plain, plain
	decide.ConnectionID, byPool.ConnectionID, byPool.Pool, elsewhere.ConnectionID = "a", "", "p", "elsewhere"
	for i, q := range []questions.Question{route, decide, plain, byPool, elsewhere} {
		want := questions.Traffic{InFlight: 1, MaxConcurrent: 1, Waiting: 1, OldestMs: 2_000, KeyWaiting: 1, KeyOldestMs: 2_000}
		if q.APIKeyID == "bob" {
			want.KeyWaiting, want.KeyOldestMs = 0, 0
		}
		if got := r.route(q); got.HasTraffic {
			t.Errorf("question %d is answered %+v, and asks for no explanation", i, got)
		}
		q.Explain = true
		previewed := make([]questions.Reply, 1)
		r.Preview(r.within(), []questions.Question{q}, previewed)
		for _, got := range []questions.Reply{r.route(q), previewed[0]} {
			if q.ConnectionID == "elsewhere" {
				want = questions.Traffic{}
			}
			if got.Err != nil || got.Traffic != want || got.HasTraffic != (q.ConnectionID != "elsewhere") {
				t.Errorf("question %d shows %t %+v, want %+v", i, got.HasTraffic, got.Traffic, want)
			}
		}
	}
	r.release("alice", "1")
	came(t, let, "its turn")
	last := routed("4")
	last.Explain = true
	answer := r.routing(last)
	r.awaitQueue("alice:1")
	r.release("alice", "2")
	if got, _ := came(t, answer, "its turn"); !got.HasTraffic || got.Traffic != (questions.Traffic{MaxConcurrent: 1}) {
		t.Errorf("who waited is shown %t %+v", got.HasTraffic, got.Traffic)
	}
}
