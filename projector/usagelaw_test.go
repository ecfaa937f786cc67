package projector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	view "github.com/quotashare/quotashare/usage"
)

// TestUsageIsWhatDecisionsExplain: every number of a snapshot is that of the
// decision about the same key at the same instant, whatever happened before.
func TestUsageIsWhatDecisionsExplain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := projector.NewState(memstore.New())
		log := histories(25).Draw(t, "log")
		last := log[len(log)-1]
		for range rapid.IntRange(1, 8).Draw(t, "more") {
			m := events.Message{Seq: uint64(len(log) + 1), Time: last.Time + int64(len(log))}
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0:
				fillRichPool(t, &m)
			case 1:
				fillRichPlan(t, &m)
			case 2, 3:
				fillSaturation(t, &m)
			case 4, 5:
				fillHolds(t, &m)
			default:
				fillUsage(t, &m)
			}
			log = append(log, m)
		}
		fold(t, s, log, 3)
		clock := last.Time + rapid.Int64Range(-1000, 4_000_000).Draw(t, "later")
		for _, p := range s.Pools() {
			u, ok := s.Usage(p.Doc.ID, clock)
			if !ok {
				t.Fatal("the pool is gone")
			}
			l := &usageLaw{T: t, s: s, p: p, u: u, clock: clock}
			l.rows()
			l.signals()
			l.explained()
			for i, k := range u.Keys {
				l.row(i, k)
			}
		}
	})
}

// fillRichPool puts a pool with everything in it that makes a difference.
func fillRichPool(t *rapid.T, m *events.Message) {
	list := rapid.SliceOfNDistinct(conns, 1, 3, rapid.ID).Draw(t, "conns")
	body := `{"id":"p","name":"n","provider":"kimi","mode":"` + rapid.SampledFrom([]string{"enforce", "enforce", "observe", "off"}).Draw(t, "mode") + `","rule":"` + rapid.SampledFrom([]string{"threshold", "guarantee"}).Draw(t, "rule") + `","connectionIds":["` +
		strings.Join(list, `","`) + `"],"allocations":[`
	var rows []string
	for _, key := range rapid.SliceOfNDistinct(keys, 0, 4, rapid.ID).Draw(t, "allocated") {
		row := fmt.Sprintf(`{"apiKeyId":%q,"weight":%d,"policy":%q,"suspended":%v`, key, rapid.SampledFrom([]int{0, 1, 20, 50}).Draw(t, "weight"),
			rapid.SampledFrom([]string{"hard", "soft", "burst"}).Draw(t, "policy"), rapid.IntRange(0, 9).Draw(t, "suspended") == 0)
		if rapid.Bool().Draw(t, "capped") {
			row += fmt.Sprintf(`,"caps":[{"unit":"tokens","window":"daily","value":%d}]`, rapid.IntRange(1, 5000).Draw(t, "cap"))
		}
		rows = append(rows, row+"}")
	}
	m.Subject, m.Header = "quota.config.pool.p", map[string][]string{"Quota-Config": {"put"}}
	m.Data = []byte(body + strings.Join(rows, ",") + "]}")
}

func fillRichPlan(t *rapid.T, m *events.Message) {
	id := conns.Draw(t, "conn")
	var dims []string
	for _, d := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		`"unit":"tokens","window":"5h"`, `"unit":"requests","window":"hourly"`, `"unit":"percent","window":"weekly"`,
	}), 0, 3, rapid.ID).Draw(t, "dimensions") {
		dims = append(dims, fmt.Sprintf(`{%s,"limit":%d}`, d, rapid.SampledFrom([]int{0, 3, 100, 5000}).Draw(t, "limit")))
	}
	m.Subject, m.Header = "quota.config.plan."+id, map[string][]string{"Quota-Config": {"put"}}
	m.Data = fmt.Appendf(nil, `{"connectionId":%q,"dimensions":[%s]}`, id, strings.Join(dims, ","))
}

type usageLaw struct {
	*rapid.T
	s     *projector.State
	p     projector.Pool
	u     *view.Snapshot
	clock int64
}

// rows checks which rows there are, and their order.
func (l *usageLaw) rows() {
	var want []string
	own := map[string]bool{}
	for _, a := range l.p.Doc.Allocations {
		want = append(want, a.APIKeyID)
		own[a.APIKeyID] = a.APIKeyID != quota.AllOthers
	}
	var unlisted []string
	for _, c := range l.p.Doc.Connections {
		for _, key := range l.s.KeysOf(c.ConnectionID) {
			if !own[key] && !slices.Contains(unlisted, key) {
				unlisted = append(unlisted, key)
			}
		}
	}
	unit, window := quota.Requests, quota.Hourly
	if len(l.u.Dimensions) > 0 {
		unit, window = l.u.Dimensions[0].Unit, l.u.Dimensions[0].Window
	}
	total := len(unlisted)
	if slices.Contains(want, quota.AllOthers) { // the row of all of them is that of a key of this name too
		unlisted = slices.DeleteFunc(unlisted, func(key string) bool { return key == quota.AllOthers })
	}
	slices.Sort(unlisted)
	slices.SortStableFunc(unlisted, func(a, b string) int {
		return int(l.consumed(b, unit, window) - l.consumed(a, unit, window))
	})
	var got []string
	for _, k := range l.u.Keys {
		got = append(got, k.ID)
	}
	if diff := cmp.Diff(append(want, unlisted...), got); diff != "" || l.u.Unlisted != total {
		l.Fatalf("%d of %d unlisted; rows: -want +got\n%s", l.u.Unlisted, total, diff)
	}
}

// consumed is what a key alone used, each connection floored: its part of the
// provider's cycle in percent, else what its counters say.
func (l *usageLaw) consumed(key string, u quota.Unit, w quota.Window) (sum quota.Amount) {
	for _, c := range l.p.Doc.Connections {
		if part, ok := l.s.Part(c.ConnectionID, key, w, l.u.AsOf.Time); ok && u == quota.Percent {
			sum = quota.AddSat(sum, part)
			continue
		}
		sum = quota.AddSat(sum, l.s.Counter(c.ConnectionID, key, "", u, w).Effective(l.u.AsOf.Time, w.Millis()))
	}
	return sum
}

// held is what a key alone has in flight, each request with at most the limit.
func (l *usageLaw) held(key string, u quota.Unit, limit quota.Amount) (sum quota.Amount) {
	for _, x := range l.s.OpenHolds() {
		here := slices.ContainsFunc(l.p.Doc.Connections, func(c plans.Connection) bool { return c.ConnectionID == x.Connection })
		switch {
		case !here || x.Key != key || x.End <= l.u.AsOf.Time:
		case limit > 0:
			sum = quota.AddSat(sum, min(x.Amounts[u], limit))
		default:
			sum = quota.AddSat(sum, x.Amounts[u])
		}
	}
	return sum
}

// row compares a row, and the dimensions' own numbers, with the decision about
// its key.
func (l *usageLaw) row(i int, k view.Key) {
	q := questions.Question{APIKeyID: k.ID, Pool: l.p.Doc.ID, Explain: true}
	asked := make([]projector.Asked, 1)
	seq, _ := l.s.Gather([]questions.Question{q}, l.clock, asked)
	a := asked[0].Facts.Decide(asked[0].Now)
	want := view.Key{ID: k.ID, Allocation: l.allocation(k.ID), Own: i < len(l.p.Doc.Allocations), Allow: a.Allowed(), Reason: a.Reason.String(), Deprioritize: a.Deprioritize, WouldBlock: a.WouldBlock()}
	if a.Reason.Blocks() {
		want.Detail = a.Detail
	}
	if a.Reason.Blocks() && a.RetryMs > 0 {
		want.RetryAt = asked[0].Now + a.RetryMs
	}
	if diff := cmp.Diff(want, k); diff != "" || l.u.AsOf != (questions.AsOf{Seq: seq, Time: asked[0].Now}) {
		l.Fatalf("as of %+v; decision: -want +got\n%s", l.u.AsOf, diff)
	}
	dims := asked[0].Facts.Explain(a.Connection, asked[0].Now, nil)
	if len(dims) != len(l.u.Dimensions) {
		l.Fatalf("%d dimensions, want %d", len(l.u.Dimensions), len(dims))
	}
	for n := range dims {
		l.dimension(&l.u.Dimensions[n], dims[n])
		use := view.UseOf(&dims[n])
		if !k.Own {
			use.Consumed = l.consumed(k.ID, dims[n].Unit, dims[n].Window)
			use.Held = l.held(k.ID, dims[n].Unit, dims[n].Limit)
			use.FairShare, use.HasFairShare, use.Deficit, use.Borrowing = 0, false, 0, false
			use.Promised, use.HasPromise = 0, false // it is promised to all of them
		}
		if diff := cmp.Diff(use, l.u.Dimensions[n].Uses[i]); diff != "" {
			l.Fatalf("%s in %s: -want +got\n%s", k.ID, dims[n].Unit, diff)
		}
	}
}

func (l *usageLaw) allocation(key string) string {
	for _, a := range l.p.Doc.Allocations {
		if a.APIKeyID == key {
			return key
		}
	}
	if slices.ContainsFunc(l.p.Doc.Allocations, func(a plans.Allocation) bool { return a.APIKeyID == quota.AllOthers }) {
		return quota.AllOthers
	}
	return ""
}

func (l *usageLaw) dimension(d *view.Dimension, want questions.Dimension) {
	got := questions.Dimension{
		Unit: d.Unit, Window: d.Window, Limit: d.Limit, ConsumedTotal: d.ConsumedTotal, HeldTotal: d.HeldTotal, Mode: d.Mode,
	}
	want = questions.Dimension{
		Unit: want.Unit, Window: want.Window, Limit: want.Limit, ConsumedTotal: want.ConsumedTotal, HeldTotal: want.HeldTotal, Mode: want.Mode,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		l.Fatalf("dimension: -want +got\n%s", diff)
	}
	var limit, total quota.Amount
	for _, c := range d.Connections {
		limit, total = limit+c.Limit, quota.AddSat(total, c.ConsumedTotal)
	}
	for i, k := range l.u.Keys {
		if k.Own && k.ID == quota.AllOthers && d.Uses[i].Consumed != d.Unlisted {
			l.Fatalf("the others used %d, the unlisted %d", d.Uses[i].Consumed, d.Unlisted)
		}
	}
	if limit != d.Limit || total != d.ConsumedTotal || len(d.Connections) != len(l.p.Doc.Connections) {
		l.Fatalf("connections sum to %d of %d, the pool has %d of %d", total, limit, d.ConsumedTotal, d.Limit)
	}
}
