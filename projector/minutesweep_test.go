package projector_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
	view "github.com/quotashare/quotashare/usage"
)

// counting is a store that counts the scans of its snapshots, and their rows.
type counting struct {
	projector.Store
	scans, rows int
}

func (s *counting) Snapshot() (projector.Snapshot, error) {
	snap, err := s.Store.Snapshot()
	return countingSnapshot{snap, s}, err
}

type countingSnapshot struct {
	projector.Snapshot
	of *counting
}

func (s countingSnapshot) Scan(from, to []byte, fn func(key, value []byte) error) error {
	s.of.scans++
	return s.Snapshot.Scan(from, to, func(key, value []byte) error {
		s.of.rows++
		return fn(key, value)
	})
}

// dense is a state whose keys k0, k1, … used each of the connections c0, c1, … in
// every minute from first to last; but for the last all is in the store.
func dense(t testing.TB, keys, connections int, first, last int64) (*scene, minuteTwin) {
	s, w := newScene(t), minuteTwin{}
	s.now = last * 60_000
	for m := first; m <= last; m++ {
		if m == last {
			cut(t, s.State, s.store)
		}
		var list []byte
		for k := range keys {
			for c := range connections {
				at := cell{fmt.Sprint("c", c), fmt.Sprint("k", k), m}
				list = fmt.Appendf(list, `,{"apiKeyId":%q,"connectionId":%q,"time":%d,"cost":{"requests":%d}}`, at.key, at.conn, m*60_000, k+1)
				cost := quota.Amounts{quota.Requests: quota.Amount(k+1) * 1000}
				w.add(at, events.Consumption, cost)
				at.key = ""
				w.add(at, events.Consumption, cost)
			}
		}
		s.publish("quota.consumption", "["+string(list[1:])+"]")
	}
	return s, w
}

// midnight is the first minute of a day.
const midnight = start / 86_400_000 * 1440

func numbered(of string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(of, i))
	}
	return all
}

// TestSweepsPassWhatIsNotWanted: whichever keys and connections, and whichever part
// of the hours around midnight.
func TestSweepsPassWhatIsNotWanted(t *testing.T) {
	const first, last = midnight - 100, midnight + 99
	s, w := dense(t, 4, 3, first, last)
	some := func(of string, n int) *rapid.Generator[[]string] {
		return rapid.SliceOfDistinct(rapid.SampledFrom(numbered(of, n)), rapid.ID)
	}
	minute := rapid.Int64Range(first-10, last+10)
	rapid.Check(t, func(t *rapid.T) {
		conns, list := some("c", 4).Draw(t, "conns"), some("k", 5).Draw(t, "keys")
		if rapid.Bool().Draw(t, "all") {
			list = append(list, "")
		}
		from, to := minute.Draw(t, "from"), minute.Draw(t, "to")
		h, err := s.History(s.store, conns)
		must(t, err)
		got := read(t, h, list, from, to)
		must(t, h.Close())
		for i, key := range list {
			if d := cmp.Diff(w.minutes(conns, key, from, to), got[i], cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("%q: -want +got\n%s", key, d)
			}
		}
	})
}

func allocated(keys []string) string {
	return `,"allocations":[{"apiKeyId":"` + strings.Join(keys, `","weight":1},{"apiKeyId":"`) + `","weight":1}]`
}

// TestSweepsCostWhatThereIsOrIsWanted, whichever is less: neither the pairs that
// have nothing, nor the rows of others.
func TestSweepsCostWhatThereIsOrIsWanted(t *testing.T) {
	s, _ := dense(t, 16, 3, midnight, midnight+399)
	s.pool(`"`+strings.Join(numbered("c", 200), `","`)+`"`, allocated(numbered("k", 3000))) // all have names now
	cut(t, s.State, s.store)
	const all, one = 17 * 3 * 400, 400 // rows: of everything, and of a key on a connection
	for _, c := range []struct {
		name             string
		keys             []string
		conns            int
		from, to         int64
		wanted, mostRows int
		mostScans        int
	}{
		{"everything", append(numbered("k", 16), ""), 3, 0, 400, all, all, 1},
		{"everything and many who used nothing", append(numbered("k", 3000), ""), 200, -1440, 1440, all, all, 1},
		{"one key", []string{"k8"}, 3, 0, 400, 3 * one, 3 * (one + 66), 4},
		{"one key of one connection", []string{"k8"}, 1, 0, 400, one, one + 66, 2},
		{"some minutes of all", numbered("k", 16), 3, 100, 110, 48 * 10, 48 * (10 + 66), 49},
		{"some minutes of the end", numbered("k", 16), 3, 390, 400, 48 * 10, 48 * (10 + 66), 49},
	} {
		taken, rows, scans := s.sweep(c.keys, numbered("c", c.conns), midnight+c.from, midnight+c.to)
		if taken != c.wanted || rows > c.mostRows || scans > c.mostScans {
			t.Errorf("%s: %d rows of %d seen by %d scans, want %d of %d by at most %d", c.name, taken, rows, scans, c.wanted, c.mostRows, c.mostScans)
		}
	}
}

// sweep reads the rows of the keys and counts what it takes.
func (s *scene) sweep(keys, connectionIDs []string, from, to int64) (taken, rows, scans int) {
	s.Helper()
	store := &counting{Store: s.store}
	h, err := s.History(store, connectionIDs)
	must(s, err)
	must(s, h.Minutes(context.Background(), keys, from, to, func(int, projector.Minute) error { taken++; return nil }))
	must(s, h.Close())
	return taken, store.rows, store.scans
}

// TestSweepsJumpSeldom: a jump costs as much as many rows, so short gaps are passed
// however many there are, and after each jump it is passed anew.
func TestSweepsJumpSeldom(t *testing.T) {
	const keys = 200
	s := newScene(t)
	s.pool(`"c1"`, allocated(numbered("k", keys)))
	var even, odd []string
	for i, key := range numbered("k", keys) {
		if i%2 == 0 {
			s.use(key, "c2", `"tokens":1`)
			s.use(key, "c1", `"tokens":1`)
			even = append(even, key)
		} else {
			s.use(key, "c1", `"tokens":1`)
			odd = append(odd, key)
		}
	}
	cut(t, s.State, s.store)
	if taken, rows, scans := s.sweep(even, []string{"c1"}, 0, s.now/60_000+1); taken != keys/2 || rows > keys+2 || scans != 1 {
		t.Errorf("every second: %d of %d by %d scans, want half of all by one", taken, rows, scans)
	}
	if taken, rows, scans := s.sweep(odd, []string{"c2"}, 0, s.now/60_000+1); taken != 0 || rows > 2*keys || scans > 1+keys/64 {
		t.Errorf("none of those there: %d of %d by %d scans, want none by %d at most", taken, rows, scans, 1+keys/64)
	}
}

// endsAfter is a context that ends after so many looks at it.
type endsAfter struct {
	context.Context
	left *int
}

func (c endsAfter) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestNothingIsMadeForOneWhoHasLeft: with each key that is judged, at each scan and
// within a long one it is looked whether somebody still waits.
func TestNothingIsMadeForOneWhoHasLeft(t *testing.T) {
	const keys = 30
	s, _ := dense(t, keys, 1, midnight, midnight+299)
	cut(t, s.State, s.store)
	s.pool(`"c0"`, allocated(numbered("k", keys)))
	q := view.Query{PoolID: "p", From: midnight * 60_000, To: (midnight + 300) * 60_000, StepMs: 60_000}
	store := &counting{Store: s.store}
	for name, c := range map[string]struct {
		call   func(context.Context, *projector.Loop) (any, bool, error)
		judged int // the choice of the keys, and each of them
	}{
		"usage": {func(ctx context.Context, l *projector.Loop) (any, bool, error) {
			u, ok, err := l.Usage(ctx, "p", s.now)
			return u == nil, ok, err
		}, 1 + keys},
		"history": {func(ctx context.Context, l *projector.Loop) (any, bool, error) {
			h, ok, err := l.UsageHistory(ctx, q)
			return h == nil, ok, err
		}, 0},
	} {
		looks := 0
		for ; ; looks++ {
			left := looks
			store.scans, store.rows = 0, 0
			none, ok, err := c.call(endsAfter{t.Context(), &left}, projector.NewLoop(s.State, store, nil))
			if left >= 0 {
				must(t, err)
				break
			}
			if !errors.Is(err, context.Canceled) || ok || none != true {
				t.Errorf("%s, left at look %d: %v", name, looks, err)
			}
		}
		if want := c.judged + store.scans + store.rows/4096; looks != want {
			t.Errorf("%s looks %d times, want %d", name, looks, want)
		}
	}
}
