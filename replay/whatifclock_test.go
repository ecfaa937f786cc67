package replay

import (
	"math"
	"testing"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
)

// TestABlockByAClockThatIsAhead is asked about by that clock, and counted when it was: it
// closes no bucket of the history, and takes nobody's time along.
func TestABlockByAClockThatIsAhead(t *testing.T) {
	const (
		days = 48 * hour
		free = `{"plans":[{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":1000000},{"unit":"tokens","window":"monthly","limit":1000000}]}]`
	)
	for _, c := range []struct {
		doc   string
		ahead int64
	}{{free + `}`, 0}, {free + `}`, days}, {free + `,"to":{"seq":4}}`, days}} {
		l := &memory{}
		l.add(0, "quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":1000},{"unit":"tokens","window":"monthly","limit":1000}]}`)
		l.add(0, "quota.config.pool.p", pool(50, 50))
		l.use(10, "a", 100)
		l.use(20, "a", 200)
		blockedRow(l, 21+c.ahead, 900, "")
		l.use(30, "a", 50)
		l.use(40, "b", 60)
		r := whatIfOf(t, l, c.doc)
		later := quota.Amount(110_000)
		if r.To == 4 {
			later = 0
		}
		want := [whatif.NumSides]quota.Amount{300_000 + later, 1_200_000 + later}
		for i, side := range r.Pools[0].Sides {
			if r.Pools[0].Window != quota.Hourly {
				t.Fatal(r.Pools[0])
			}
			if side.Used != want[i] || side.Buckets != 1 {
				t.Errorf("up to %d, %d ms ahead: on side %d %d are used in %d buckets, want %d in one", r.To, c.ahead, i, side.Used, side.Buckets, want[i])
			}
		}
		if at := l.list[r.To-1].Time; r.ToAt != at || r.Asked.Blocks != 1 {
			t.Errorf("up to %d, %d ms ahead: it ends %d ms late; %+v", r.To, c.ahead, r.ToAt-at, r.Asked)
		}
	}
}

// TestARowOfAnyCountEnds: one by one while a second may have had so many, and then several
// at a time, of which none is lost.
func TestARowOfAnyCountEnds(t *testing.T) {
	for _, n := range []int{1, mostAlike - 1, mostAlike, mostAlike + 1, 3*mostAlike + 7, math.MaxInt32} {
		l := shared(50, 50)
		l.use(10, "a", 1000)
		row := blockedRow(l, 11, 1, "")
		row.Count = n
		row.Question.Estimate[quota.USD] = quota.USD.Max() - 1
		l.use(20, "b", 1)
		r := whatIfOf(t, l, `{"withoutPools":["p"],"plans":[{"connectionId":"c","dimensions":null}],"from":{"seq":3}}`)
		before, after := r.Rows[0].Sides[whatif.Before], r.Rows[0].Sides[whatif.After]
		if before.Blocked != int64(n) || after.Blocked != 0 || after.Allowed != int64(n)+1 || r.Rows[0].NewlyAllowed != int64(n) {
			t.Errorf("%d times: %+v", n, r.Rows[0])
		}
		if got, want := after.Served[quota.Tokens], quota.Amount(n)*1000+1_000_000; got != want {
			t.Errorf("%d times: %s are served, want %s", n, got.Format(quota.Tokens), want.Format(quota.Tokens))
		}
	}
}
