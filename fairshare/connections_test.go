package fairshare

import (
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// TestConnectionsAgainstTwin compares each connection with the twin, and the sums
// with what is explained.
func TestConnectionsAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, b := drawQuestion(t)
		f := gather(q, b, rapidNow)
		now := drawLater(t, f, b)
		tw := &twin{q, b, q.Connection, now}
		for i, d := range f.Explain(q.Connection, now, nil) {
			uses := f.Connections(i, now, nil)
			var limit, total quota.Amount
			for conn, got := range uses {
				want := tw.connection(&q.Pool.Dimensions[i], conn)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s %s on connection %d (-twin +got)\n%s", d.Unit, d.Window, conn, diff)
				}
				limit, total = limit+got.Limit, total+got.Consumed
			}
			if len(uses) != len(b.conns) || limit != d.Limit || total != d.ConsumedTotal {
				t.Fatalf("%d connections sum to limit %d and total %d, explained are %d and %d", len(uses), limit, total, d.Limit, d.ConsumedTotal)
			}
		}
	})
}

func (t *twin) connection(d *plans.PoolDimension, conn int) ConnectionUse {
	use := ConnectionUse{Limit: d.PerConnection[conn], Consumed: steps(t.totalOf(conn, d.Unit, d.Window))}
	if r := t.reading(conn, d.Window); r != nil {
		use.ProviderUsed, use.HasProvider = steps(r), true
		said := t.b.conns[conn].readings[d.Window]
		use.ResetAt, use.Observed = t.said(r, said.Current, said.Other)
	}
	return use
}

func steps(r *big.Rat) quota.Amount { return quota.Amount(r.Num().Int64()) }

// TestConnectionsShowTheWordThatCounts: with the reset of the window that gives
// the larger value, and not of another.
func TestConnectionsShowTheWordThatCounts(t *testing.T) {
	p := &plans.Pool{Connections: make([]plans.Connection, 2)}
	dims := []plans.Dimension{
		{Unit: quota.Requests, Window: quota.Hourly}, {Unit: quota.Percent, Window: quota.FiveHour, Limit: 80e6},
	}
	r := plans.Resolve(p, func(string) plans.Plan { return plans.Plan{Dimensions: dims} })
	b := newBook(2)
	bucket, _ := windows.Bucket(rapidNow, quota.FiveHour.Millis())
	for i := range b.conns {
		b.conns[i].total[quota.Percent][quota.FiveHour] = windows.Counter{Index: bucket, Curr: 7e6}
	}
	b.conns[1].readings[quota.FiveHour] = Reading{
		Current: Level{Used: 30e6, Until: rapidNow + 10, ResetAt: rapidNow + 10, Observed: rapidNow - 1},
		Other:   Level{Used: 40e6, Until: rapidNow + 5, ResetAt: rapidNow + 50, Observed: rapidNow - 2},
	}
	f := gather(ask(r, "a", AnyConnection), b, rapidNow)
	local := ConnectionUse{Limit: 80e6, Consumed: 7e6}
	for later, second := range map[int64]ConnectionUse{
		4:  {Limit: 80e6, Consumed: 40e6, ProviderUsed: 40e6, HasProvider: true, ResetAt: rapidNow + 50, Observed: rapidNow - 2},
		5:  {Limit: 80e6, Consumed: 30e6, ProviderUsed: 30e6, HasProvider: true, ResetAt: rapidNow + 10, Observed: rapidNow - 1},
		10: local,
	} {
		if diff := cmp.Diff([]ConnectionUse{local, second}, f.Connections(1, rapidNow+later, nil)); diff != "" {
			t.Errorf("after %d ms (-want +got)\n%s", later, diff)
		}
	}
	if diff := cmp.Diff(make([]ConnectionUse, 2), f.Connections(0, rapidNow, nil)); diff != "" {
		t.Errorf("an unknown limit (-want +got)\n%s", diff)
	}
}
