package projector_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// TestThePromiseInTheFold: a pool lives on, with holds, settlements, readings, corrections
// of its document and use that nobody asked for. Whenever what is used and promised is not
// above the limit, every key gets what it is promised, alone and together with others; no
// admission makes it more, nor does time; and never is more admitted than there is.
func TestThePromiseInTheFold(t *testing.T) {
	var n counted
	for n.claims < 100_000 {
		rapid.Check(t, func(t *rapid.T) {
			g := drawGuild(t)
			mild := rapid.Bool().Draw(t, "mild")
			for range rapid.IntRange(1, 60).Draw(t, "steps") {
				g.step(t, mild, &n)
				g.claim(t, &n)
				switch rapid.IntRange(0, 5).Draw(t, "look") {
				case 0, 1:
					g.compare(t, &n)
				case 2:
					g.claimTogether(t, &n)
				}
			}
		})
	}
	t.Logf("%+v", n)
	if n.admitted < 2_000 || n.together < 500 || n.less < 500 || n.later < 500 || n.behind < 500 || n.turned < 100 || n.back < 500 {
		t.Errorf("too little was seen: %+v", n)
	}
}

// counted is what was seen.
type counted struct{ claims, together, admitted, refused, less, later, behind, turned, back int }

// step lets time go by and something happen, and looks whether the excess grew for it.
func (g *guild) step(t *rapid.T, mild bool, n *counted) {
	g.elapse(t, n)
	before := g.stand(g.now)
	top := 17
	if mild {
		top = 13
	}
	switch kind := rapid.IntRange(0, top).Draw(t, "what"); {
	case kind < 8:
		g.ask(t, before, n)
	case kind < 12:
		g.settle(t, before, mild)
	case kind < 13:
		g.release(t, before)
	case kind < 14:
		g.read(&g.accounts[rapid.IntRange(0, len(g.accounts)-1).Draw(t, "account")])
	case kind < 16:
		g.intrude(t)
	default:
		g.change(t)
	}
}

// elapse lets time go by: within a period the excess does not grow, and after it there is
// none but for what is held.
func (g *guild) elapse(t *rapid.T, n *counted) {
	before := g.stand(g.now)
	g.now += rapid.OneOf(rapid.SampledFrom([]int64{0, 0, 1, 1_000}), rapid.Int64Range(0, 600_000), rapid.Int64Range(0, 7_200_000)).Draw(t, "gap")
	for i, x := range g.stand(g.now) {
		switch now := x.excess(); {
		case x.period == before[i].period && now > max(0, before[i].excess()):
			t.Fatalf("in time the excess of %v grows from %d to %d", g.dims[i], before[i].excess(), now)
		case x.cycle == before[i].cycle && !x.cycle && x.period[0] != before[i].period[0]:
			if n.turned++; now > x.beyond {
				t.Fatalf("in a new bucket the excess of %v is %d, and held beyond the promises is %d", g.dims[i], now, x.beyond)
			}
		}
	}
}

// ask publishes a hold. When it is let pass, nothing is over-admitted and the excess does
// not grow.
func (g *guild) ask(t *rapid.T, before []standing, n *counted) {
	e := g.drawHold(t)
	if !g.hold(e) {
		n.refused++
		return
	}
	n.admitted++
	for i, x := range g.stand(g.now) {
		if x.total > x.limit {
			t.Fatalf("over-admitted in %v: %d of %d, for %+v", g.dims[i], x.total, x.limit, e)
		}
		if now := x.excess(); now > max(0, before[i].excess()) {
			t.Fatalf("the excess of %v grows from %d to %d by an admission: %+v, %+v", g.dims[i], before[i].excess(), now, e, x)
		}
	}
}

func (g *guild) drawHold(t *rapid.T) events.Event {
	key := "stranger"
	if i := rapid.IntRange(-1, 3*len(g.members)-1).Draw(t, "asker"); i >= 0 {
		key = g.members[i%len(g.members)].key()
	}
	e := g.holdOf(key, rapid.IntRange(0, len(g.accounts)-1).Draw(t, "on"), quota.Amounts{})
	for _, d := range g.dims {
		most := d.each * int64(len(g.accounts)) / rapid.SampledFrom([]int64{1, 3, 10, 10, 50, 50}).Draw(t, "part")
		e.Cost[d.unit] = quota.Amount(rapid.Int64Range(0, most).Draw(t, "estimate"))
	}
	return e
}

func (g *guild) holdOf(key string, conn int, estimate quota.Amounts) events.Event {
	g.requests++
	e := events.Event{
		Kind: events.Hold, ID: fmt.Sprint("h", g.requests), APIKeyID: key, RequestID: fmt.Sprint("r", g.requests),
		ConnectionID: g.accounts[conn].id, Cost: estimate, LeaseMs: 600_000,
	}
	for _, d := range g.dims {
		e.Given |= 1 << d.unit
	}
	e.DecisionID = e.ID
	return e
}

// hold publishes holds, and reports whether all are let pass.
func (g *guild) hold(list ...events.Event) bool {
	g.publish(list...)
	all := true
	for _, e := range list {
		if !g.s.HoldOpen(e.APIKeyID, e.RequestID) {
			all = false
			continue
		}
		g.open = append(g.open, openHold{e.APIKeyID, e.ConnectionID, e.RequestID, e.Cost, g.now + e.LeaseMs})
	}
	return all
}

// draw takes one of the open holds, nil when there is none.
func (g *guild) draw(t *rapid.T) *openHold {
	g.open = slices.DeleteFunc(g.open, func(h openHold) bool { return h.end <= g.now })
	if len(g.open) == 0 {
		return nil
	}
	i := rapid.IntRange(0, len(g.open)-1).Draw(t, "hold")
	h := g.open[i]
	g.open = slices.Delete(g.open, i, i+1)
	return &h
}

// settle ends a hold with what it used; the provider may say so at once.
func (g *guild) settle(t *rapid.T, before []standing, mild bool) {
	h := g.draw(t)
	if h == nil {
		return
	}
	e := events.Event{Kind: events.Consumption, APIKeyID: h.key, ConnectionID: h.conn, RequestID: h.request}
	over := !mild && rapid.IntRange(0, 4).Draw(t, "over") == 0
	g.clean = g.clean && !over
	for _, d := range g.dims {
		used := int64(h.amounts[d.unit])
		switch rapid.IntRange(0, 2).Draw(t, "used") {
		case 0:
			used = rapid.Int64Range(0, used).Draw(t, "less")
		case 1:
			if over {
				used += rapid.Int64Range(0, d.each/4).Draw(t, "more")
			}
		}
		e.Cost[d.unit] = quota.Amount(used)
	}
	g.use(e)
	for i, x := range g.stand(g.now) {
		counted := int64(h.amounts[g.dims[i].unit]) <= x.limit // it may have become less
		if now := x.excess(); counted && !over && !x.cycle && now > max(0, before[i].excess()) {
			t.Fatalf("the excess of %v grows from %d to %d by a settlement of %+v with %v", g.dims[i], before[i].excess(), now, h, e.Cost)
		}
	}
}

// use publishes a consumption, and what the provider says after it. What it has in percent
// is what the split goes by too.
func (g *guild) use(e events.Event) {
	e.Given |= 1<<quota.Percent | 1<<quota.Tokens
	if g.dims[0].unit == quota.Percent && len(g.dims) == 1 {
		e.Cost[quota.Tokens] = e.Cost[quota.Percent]
	}
	g.publish(e)
	a := &g.accounts[slices.IndexFunc(g.accounts, func(a account) bool { return a.id == e.ConnectionID })]
	if !a.timeless && g.now >= a.reset {
		a.used = 0
		if a.until == 0 || !a.reads {
			a.reset = g.now + quota.FiveHour.Millis()
		}
	}
	a.used += int64(e.Cost[quota.Percent])
	if a.until != 0 {
		g.read(a)
	}
}

func (g *guild) release(t *rapid.T, before []standing) {
	h := g.draw(t)
	if h == nil {
		return
	}
	g.publish(events.Event{Kind: events.Release, APIKeyID: h.key, RequestID: h.request})
	for i, x := range g.stand(g.now) {
		if now := x.excess(); now > max(0, before[i].excess()) {
			t.Fatalf("the excess of %v grows from %d to %d by a release of %+v", g.dims[i], before[i].excess(), now, h)
		}
	}
}

// intrude is use that nobody asked for, some of it long ago.
func (g *guild) intrude(t *rapid.T) {
	g.clean = false
	h := g.drawHold(t)
	h.Kind, h.ID, h.RequestID, h.DecisionID, h.LeaseMs = events.Consumption, "", "", "", 0
	if rapid.Bool().Draw(t, "late") {
		h.Time = g.now - rapid.Int64Range(0, 7_200_000).Draw(t, "ago")
	}
	for u := range h.Cost {
		h.Cost[u] /= 4
	}
	g.use(h)
}

// change writes the pool anew.
func (g *guild) change(t *rapid.T) {
	g.clean = false
	i := rapid.IntRange(0, len(g.members)-1).Draw(t, "whose")
	m := &g.members[i]
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0:
		m.weight = rapid.Int64Range(0, 100e6).Draw(t, "weight")
	case 1:
		m.suspended = !m.suspended
	case 2:
		g.members = append(g.members, drawMember(t, fmt.Sprint("new", g.seq), 2, 1))
	case 3:
		g.dims[0].each = rapid.Int64Range(1, g.dims[0].each*5/4).Draw(t, "limit")
	case 4:
		g.reserve = rapid.Int64Range(0, 400).Draw(t, "reserve")
	case 5:
		if len(g.members) > 1 {
			g.members = slices.Delete(g.members, i, i+1)
		}
	}
	g.configure()
}

// promised is what a key can claim of every dimension at an instant; ok is false when there
// is a dimension in which it has nothing, or in which the promises cannot be kept.
func (g *guild) promised(list []standing, j int) (claim quota.Amounts, atOnce, ok bool) {
	atOnce, ok = true, !g.members[j].suspended
	for i := range list {
		x := &list[i]
		owed := x.owed(j)
		ok = ok && owed > 0 && x.excess() <= 0
		atOnce = atOnce && x.cycle
		claim[g.dims[i].unit] = quota.Amount(owed)
	}
	return claim, atOnce, ok
}

// serving is a connection that is not used up, -1 = there is none.
func (g *guild) serving(at int64) int {
	return slices.IndexFunc(g.accounts, func(a account) bool { return at >= a.until || a.said < 100e6 })
}

// claim has every key ask for all that it is promised, or a part, now and later. In cycles it gets it
// at once; in a sliding window it may have to wait for what is used to fall, and for keys
// that used less, but not because something is kept.
func (g *guild) claim(t *rapid.T, n *counted) {
	late := rapid.Int64Range(0, 1_200_000).Draw(t, "later")
	for k := range int64(5) {
		at := g.now + k*late
		list, conn := g.stand(at), g.serving(at)
		var qs []questions.Question
		var who []int
		for j := range g.members {
			claim, _, ok := g.promised(list, j)
			for part := quota.Amount(1); ok && conn >= 0 && part <= 4; part *= 2 {
				some := claim
				for u := range some {
					some[u] = max(min(1, some[u]), some[u]/part)
				}
				qs, who = append(qs, g.question(g.members[j].key(), conn, some)), append(who, j)
			}
		}
		asked := g.answer(qs, at)
		for k := range qs {
			_, atOnce, _ := g.promised(list, who[k])
			v := asked[k].Facts.Judge(at)
			switch {
			case v.Detail == "guaranteed":
			case atOnce, v.Detail != "yield" && v.Reason != fairshare.GlobalSaturated:
				t.Fatalf("at %d %+v is promised %v and gets %v %s: %+v", at, g.members[who[k]], qs[k].Estimate, v.Reason, v.Detail, list)
			}
			if atOnce {
				n.claims++
			}
		}
	}
}

// claimTogether has several keys take all that they are promised, one after another, and
// give it back.
func (g *guild) claimTogether(t *rapid.T, n *counted) {
	list, conn := g.stand(g.now), g.serving(g.now)
	var holds []events.Event
	for _, j := range rapid.Permutation(indices(len(g.members))).Draw(t, "order") {
		if claim, atOnce, ok := g.promised(list, j); ok && atOnce && conn >= 0 {
			holds = append(holds, g.holdOf(g.members[j].key(), conn, claim))
		}
	}
	if len(holds) == 0 {
		return
	}
	if !g.hold(holds...) {
		t.Fatalf("together they are promised %+v and only %+v is held: %+v", holds, g.open, list)
	}
	n.claims, n.together = n.claims+len(holds), n.together+len(holds)
	g.open = g.open[:len(g.open)-len(holds)]
	for i := range holds {
		holds[i] = events.Event{Kind: events.Release, APIKeyID: holds[i].APIKeyID, RequestID: holds[i].RequestID}
	}
	g.publish(holds...)
}

func indices(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// compare asks the same for all keys: whoever is let pass is so with less, and later in
// the same period; and so is every key that is behind it.
func (g *guild) compare(t *rapid.T, n *counted) {
	conn := g.serving(g.now)
	if conn < 0 {
		return
	}
	e, list := g.drawHold(t), g.stand(g.now)
	var qs []questions.Question
	for j := range g.members {
		qs = append(qs, g.question(g.members[j].key(), conn, e.Cost))
	}
	less := e.Cost
	for u := range less {
		less[u] = quota.Amount(rapid.Int64Range(0, int64(less[u])).Draw(t, "less"))
	}
	for j := range g.members {
		qs = append(qs, g.question(g.members[j].key(), conn, less))
	}
	asked := g.answer(qs, g.now)
	var allowed []bool
	for k := range asked {
		allowed = append(allowed, !asked[k].Facts.Judge(g.now).Reason.Blocks())
	}
	all := len(g.members)
	for j := range all {
		if allowed[j] {
			if n.less++; !allowed[all+j] {
				t.Fatalf("%+v gets %v and not %v: %+v", g.members[j], e.Cost, less, list)
			}
		}
		for k := range all {
			if allowed[k] && g.isBehind(list, j, k) {
				if n.behind++; !allowed[j] {
					t.Fatalf("%+v gets %v, and %+v, who used less for its weight, does not: %+v", g.members[k], e.Cost, g.members[j], list)
				}
			}
		}
	}
	g.compareLater(t, qs[:all], allowed, list, n)
	for j := range all {
		if !allowed[j] {
			g.comeBack(t, qs[j], asked[j].Facts.Decide(g.now).RetryMs, n)
		}
	}
}

// comeBack asks a blocked question again when it was told to, and a millisecond before.
func (g *guild) comeBack(t *rapid.T, q questions.Question, wait int64, n *counted) {
	if n.back++; wait < 0 {
		if j := g.memberOf(q.APIKeyID); !g.members[j].suspended {
			t.Fatalf("%+v is never let pass, says %+v", q, g.members[j])
		}
		return
	}
	at := g.now + wait
	asked := [2]projector.Asked{g.answer([]questions.Question{q}, at-1)[0], g.answer([]questions.Question{q}, at)[0]}
	early, then := asked[0].Facts.Judge(at-1), asked[1].Facts.Judge(at)
	if !early.Reason.Blocks() || then.Reason.Blocks() {
		t.Fatalf("free %d ms after %d: %v %s and just before %v %s: %+v", wait, g.now, then.Reason, then.Detail, early.Reason, early.Detail, q)
	}
}

// isBehind reports whether j used less for its weight than k in every dimension, and asks
// by the same policy.
func (g *guild) isBehind(list []standing, j, k int) bool {
	a, b := &g.members[j], &g.members[k]
	if j == k || a.suspended || b.suspended || a.policy != "hard" || b.policy != "hard" || a.weight != b.weight {
		return false
	}
	return !slices.ContainsFunc(list, func(x standing) bool { return x.used[j] > x.used[k] })
}

// compareLater does not look at pools in which something happened that nobody asked for:
// what is kept there may rise.
func (g *guild) compareLater(t *rapid.T, qs []questions.Question, allowed []bool, list []standing, n *counted) {
	at := g.now + rapid.Int64Range(0, 3_600_000).Draw(t, "until")
	same := func(a, b standing) bool { return a.period == b.period }
	if !g.clean || !slices.EqualFunc(list, g.stand(at), same) {
		return
	}
	asked := g.answer(qs, at)
	for k := range asked {
		if allowed[k] {
			if n.later++; asked[k].Facts.Judge(at).Reason.Blocks() {
				t.Fatalf("%+v gets %v at %d and not at %d: %+v", g.members[k], qs[k].Estimate, g.now, at, list)
			}
		}
	}
}
