package projector_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

const cheap, dear quota.Amount = 10_000, twinCap - 15_000 // two that are cheap leave no room for a dear one

// TestClaimsEqualTheirDumbTwin: in a crowd, where a dear request of alice is kept back by
// her cap, and cheap ones that came later could take what it has a claim on.
func TestClaimsEqualTheirDumbTwin(t *testing.T) {
	equalsTwin(t, (*routesTwin).crowd, []int64{3}, 10, "claimed", "claimed elsewhere", "behind", "granted", "not the first", "elsewhere")
}

// crowd is a step in which bob takes all places of the pool in which alice has a cap, and
// she waits for them: the cheap ones that are first make that the dear one behind them is
// kept back, while more places come free and more of hers come. Or it is one hold of either, or an end.
func (w *routesTwin) crowd() {
	switch what := rapid.IntRange(0, 99).Draw(w.T, "what") % 10; what { // of a hundred ten are about alike
	case 0, 1:
		for range 3 {
			w.bobs("c4")
		}
		for _, cost := range []quota.Amount{cheap, cheap, dear, cheap, cheap} {
			w.hers(cost)
		}
		for range 3 {
			w.later()
			w.hers(cheap)
		}
	case 2, 3, 4:
		w.bobs(rapid.SampledFrom([]string{"c4", "c1"}).Draw(w.T, "connection"))
	case 5, 6, 7:
		w.hers(rapid.SampledFrom([]quota.Amount{cheap, dear}).Draw(w.T, "cost"))
	default:
		w.release(requestName{"alice", fmt.Sprint("h", w.seq-rapid.Uint64Range(0, 20).Draw(w.T, "ago"))})
	}
}

func (w *routesTwin) bobs(connection string) {
	w.asks(&events.Event{APIKeyID: "bob", ConnectionID: connection})
}

// hers is a hold of alice, who waits for it, mostly.
func (w *routesTwin) hers(cost quota.Amount) {
	e := events.Event{APIKeyID: "alice", MaxWaitMs: rapid.SampledFrom([]int64{60_000, 60_000, 60_000, 0}).Draw(w.T, "wait")}
	e.Cost[quota.Tokens], e.Model = cost, rapid.SampledFrom([]string{"", "", "m"}).Draw(w.T, "model")
	list := rapid.SampledFrom([][]string{nil, {"c4"}, {"c1", "c4"}, {"c4", "c1"}, {"c1"}}).Draw(w.T, "of")
	if list == nil {
		e.Pool = "q"
	}
	for _, id := range list {
		e.Candidates = append(e.Candidates, events.Candidate{ConnectionID: id})
	}
	w.asks(&e)
}

func (w *routesTwin) asks(e *events.Event) {
	e.Kind, e.ID, e.Given = events.Hold, fmt.Sprint("h", w.seq), 1<<quota.Requests|1<<quota.Tokens
	e.RequestID, e.DecisionID, e.Cost[quota.Requests] = e.ID, e.ID, 1_000
	e.LeaseMs = rapid.SampledFrom([]int64{31_000, 2_000, 1_000}).Draw(w.T, "lease")
	w.publish("quota.hold", string(events.AppendJSON(nil, e)))
	w.want(e)
	w.serve()
}
