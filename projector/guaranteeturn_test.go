package projector_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// TestWhatIsPromisedTooMuchIsGoneWithTheCycle: use that nobody asked for, other weights and
// overruns can lead to more being promised than there is. When the provider's cycle turns
// nothing of that is left but what is held beyond the promises.
func TestWhatIsPromisedTooMuchIsGoneWithTheCycle(t *testing.T) {
	turned, over := 0, 0
	for over < 10 {
		rapid.Check(t, func(t *rapid.T) {
			g := drawGuild(t)
			width := quota.FiveHour.Millis()
			end := start + rapid.Int64Range(width/2, width).Draw(t, "turns")
			for i := range g.accounts {
				g.accounts[i].reads, g.accounts[i].timeless, g.accounts[i].reset = true, false, end
				g.read(&g.accounts[i])
			}
			var n counted
			for range rapid.IntRange(1, 30).Draw(t, "steps") {
				g.now = min(end-1, g.now+rapid.Int64Range(0, width/30).Draw(t, "gap"))
				g.happen(t, &n)
			}
			before := g.stand(end - 1)
			g.now = end
			for i := range g.accounts {
				g.accounts[i].used = 0
				g.read(&g.accounts[i])
			}
			for i, x := range g.stand(g.now) {
				if !x.cycle {
					continue
				}
				turned++
				if before[i].excess() > 0 {
					over++
				}
				if now := x.excess(); now > x.beyond {
					t.Fatalf("in a new cycle the excess of %v is %d, and held beyond the promises is %d: %+v", g.dims[i], now, x.beyond, x)
				}
				g.freed(t, i, &x)
			}
		})
	}
	t.Logf("%d cycles turned, %d of them with too much", turned, over)
}

// happen is a step in which the excess may grow.
func (g *guild) happen(t *rapid.T, n *counted) {
	before := g.stand(g.now)
	switch rapid.IntRange(0, 4).Draw(t, "what") {
	case 0, 1:
		g.ask(t, before, n)
	case 2:
		g.settle(t, before, false)
	case 3:
		g.intrude(t)
	case 4:
		g.change(t)
	}
}

// freed looks whether a key that is promised something of the only dimension gets it.
func (g *guild) freed(t *rapid.T, dim int, x *standing) {
	if len(g.dims) > 1 || x.excess() > 0 {
		return
	}
	for j := range g.members {
		var claim quota.Amounts
		if claim[g.dims[dim].unit] = quota.Amount(x.owed(j)); x.owed(j) == 0 || g.members[j].suspended {
			continue
		}
		q := g.question(g.members[j].key(), 0, claim)
		if v := g.answer([]questions.Question{q}, g.now)[0].Facts.Judge(g.now); v.Reason.Blocks() {
			t.Fatalf("in a new cycle %+v is promised %v and gets %v %s: %+v", g.members[j], claim, v.Reason, v.Detail, x)
		}
	}
}

// TestHoldsInAnyOrder: where the order of the log refuses nobody, holds, their ends and use
// lead to the same answers in any order that keeps what a request began before its end.
func TestHoldsInAnyOrder(t *testing.T) {
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		one := drawGuild(t)
		other := newGuild(t)
		other.dims, other.members, other.reserve = one.dims, one.members, one.reserve
		other.accounts = slices.Clone(one.accounts)
		other.configure()
		for i := range one.accounts {
			if one.accounts[i].until != 0 {
				other.accounts[i].reset, other.accounts[i].until = one.accounts[i].reset, 0
				other.read(&other.accounts[i])
			}
		}
		var list []events.Event
		for range rapid.IntRange(2, 12).Draw(t, "requests") {
			list = append(list, one.request(t)...)
		}
		for i, e := range causal(rapid.Permutation(list).Draw(t, "order"), list) {
			one.publish(list[i])
			other.publish(e)
		}
		if one.s.Counts().Holds.Refused+other.s.Counts().Holds.Refused > 0 {
			return
		}
		compared++
		for _, g := range []*guild{one, other} {
			for i := range g.accounts {
				g.accounts[i].used = 20e6
				g.read(&g.accounts[i])
			}
		}
		at := start + rapid.Int64Range(0, 1_200_000).Draw(t, "later")
		if d := cmp.Diff(one.allAnswers(at), other.allAnswers(at)); d != "" {
			t.Fatalf("in another order:\n%s", d)
		}
	})
	if compared < 30 {
		t.Errorf("only %d were compared", compared)
	}
}

// request is a small hold and what ends it, if something does.
func (g *guild) request(t *rapid.T) []events.Event {
	h := g.drawHold(t)
	h.LeaseMs = rapid.Int64Range(1, 1_200_000).Draw(t, "lease")
	for u := range h.Cost {
		h.Cost[u] /= 100
	}
	e := events.Event{APIKeyID: h.APIKeyID, ConnectionID: h.ConnectionID, RequestID: h.RequestID}
	switch rapid.IntRange(0, 2).Draw(t, "end") {
	case 0:
		e.Kind = events.Release
		e.ConnectionID = ""
	case 1:
		e.Kind, e.Cost, e.Given, e.ID = events.Consumption, h.Cost, h.Given, fmt.Sprint("u", g.requests)
		for u := range e.Cost {
			e.Cost[u] = quota.Amount(rapid.Int64Range(0, 2*int64(e.Cost[u])).Draw(t, "used"))
		}
	default:
		return []events.Event{h}
	}
	return []events.Event{h, e}
}

// causal puts the events of each request back in the order in which they came about.
func causal(order, list []events.Event) []events.Event {
	of := map[string][]events.Event{}
	for _, e := range list {
		of[e.RequestID] = append(of[e.RequestID], e)
	}
	for i, e := range order {
		order[i], of[e.RequestID] = of[e.RequestID][0], of[e.RequestID][1:]
	}
	return order
}
