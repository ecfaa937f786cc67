package projector_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// twin is the fold of usage as one would write it who never heard of buckets
// that rotate: it keeps every event and adds up.
type twin struct {
	logTime int64
	used    []used
	ids     []takenID
	counts  projector.Counts
	// What was said and used, in log order, for meters to be made of.
	steps     []step
	holds     map[requestName]projector.OpenHold
	settled   map[requestName]int64
	providers map[string]string // of the newest event, by connection
}

func newTwin() *twin {
	return &twin{providers: map[string]string{}, holds: map[requestName]projector.OpenHold{}, settled: map[requestName]int64{}}
}

type used struct {
	conn, key, model string
	time             int64
	cost             quota.Amounts
	full             *full
}

// full are the windows that had no room for an event and weigh no more, by the pair.
type full map[counterOf]bool

type counterOf struct {
	key, model string
	unit       quota.Unit
	window     quota.Window
}

func (u used) isFull(p used, unit quota.Unit, win quota.Window) bool {
	return u.full != nil && (*u.full)[counterOf{p.key, p.model, unit, win}]
}

type takenID struct {
	id      [16]byte
	content [32]byte
	at      int64
}

func (w *twin) apply(m events.Message) {
	if m.Time/day > w.logTime/day {
		w.steps = append(w.steps, step{newDay: m.Time})
	}
	w.logTime = max(w.logTime, m.Time)
	w.counts.Messages++
	w.expireHolds()
	for _, it := range events.Decode(&m, nil) {
		w.item(&m, &it)
	}
}

func (w *twin) item(m *events.Message, it *events.Item) {
	if it.Err != nil {
		w.reject(it.Err.Reason)
		return
	}
	e := &it.Event
	id, has := e.Identity()
	if has {
		for _, old := range w.ids {
			if old.id != id || w.logTime-old.at >= projectorHorizon {
				continue
			}
			if old.content == e.Content() {
				w.counts.Duplicates++
			} else {
				w.reject(events.IDConflict)
			}
			return
		}
	}
	switch e.Kind {
	case events.Saturation:
		w.hear(m, e)
	case events.Hold:
		w.hold(e)
	case events.Release:
		w.release(e)
	default:
		if !w.use(m, e) {
			w.reject(events.OverflowReason)
			return
		}
		w.settle(e)
	}
	if e.Provider != "" {
		w.providers[e.ConnectionID] = e.Provider
	}
	if has {
		w.ids = append(w.ids, takenID{id, e.Content(), w.logTime})
	}
	w.counts.Folded++
}

func (w *twin) reject(r events.Reason) {
	w.counts.Rejected++
	for i, known := range projector.Reasons {
		if known == r {
			w.counts.ByReason[i]++
		}
	}
}

// use counts the event, unless a bucket would pass its bound.
func (w *twin) use(m *events.Message, e *events.Event) bool {
	u := used{conn: e.ConnectionID, key: e.APIKeyID, model: e.Model, cost: e.Cost, full: &full{}}
	var clamped bool
	u.time, clamped = place(m, e)
	late := false
	for _, p := range u.pairs() {
		for unit := range quota.Unit(quota.NumUnits) {
			for win := range quota.Window(quota.NumWindows) {
				if u.cost[unit] == 0 || p.model != "" && win != quota.Hourly {
					continue
				}
				bucket := u.time / win.Millis()
				if newest, any := w.newest(p, unit, win); any && bucket < newest-1 {
					late = true
					continue
				}
				sum := w.bucket(p, unit, win, bucket)
				if sum.Add(sum, big.NewInt(int64(u.cost[unit]))); sum.CmpAbs(big.NewInt(1<<62)) < 0 {
					continue
				}
				if bucket >= w.logTime/win.Millis()-1 {
					return false
				}
				late = true
				(*u.full)[counterOf{p.key, p.model, unit, win}] = true
			}
		}
	}
	w.used = append(w.used, u)
	if e.Kind == events.Consumption {
		w.steps = append(w.steps, step{conn: u.conn, key: u.key, at: u.time, cost: u.cost, priced: e.Given&(1<<quota.USD) != 0})
	}
	if late {
		w.counts.Late++
	}
	if clamped {
		w.counts.Clamped++
	}
	return true
}

func place(m *events.Message, e *events.Event) (at int64, clamped bool) {
	switch {
	case e.Time == 0:
		return m.Time, false
	case e.Time > m.Time+120_000:
		return m.Time, true
	}
	return e.Time, false
}

// pairs are what the event counts for: total, key, and key with model.
func (u used) pairs() []used {
	list := []used{{conn: u.conn}, {conn: u.conn, key: u.key}}
	if u.model != "" {
		list = append(list, used{conn: u.conn, key: u.key, model: u.model})
	}
	return list
}

func (u used) counts(p used, unit quota.Unit) bool {
	return u.conn == p.conn && (p.key == "" || p.key == u.key) && (p.model == "" || p.model == u.model) && u.cost[unit] != 0
}

func (w *twin) newest(p used, unit quota.Unit, win quota.Window) (bucket int64, any bool) {
	for _, u := range w.used {
		if u.counts(p, unit) {
			bucket, any = max(bucket, u.time/win.Millis()), true
		}
	}
	return bucket, any
}

func (w *twin) bucket(p used, unit quota.Unit, win quota.Window, bucket int64) *big.Int {
	sum := new(big.Int)
	for _, u := range w.used {
		if u.counts(p, unit) && !u.isFull(p, unit, win) && u.time/win.Millis() == bucket {
			sum.Add(sum, big.NewInt(int64(u.cost[unit])))
		}
	}
	return sum
}

// counter is what the two buckets must hold when rotated to the instant.
func (w *twin) counter(p used, unit quota.Unit, win quota.Window, now int64) windows.Counter {
	index := now / win.Millis()
	if newest, any := w.newest(p, unit, win); any {
		index = max(index, newest)
	}
	return windows.Counter{
		Index: index,
		Curr:  quota.Amount(w.bucket(p, unit, win, index).Int64()),
		Prev:  quota.Amount(w.bucket(p, unit, win, index-1).Int64()),
	}
}

// TestUsageEqualsItsDumbTwin compares every counter and every count.
func TestUsageEqualsItsDumbTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newTwin()
		s := projector.NewState(memstore.New())
		for _, m := range histories(25).Draw(t, "log") {
			if strings.HasPrefix(m.Subject, events.ConfigPrefix) {
				continue
			}
			w.apply(m)
			fold(t, s, []events.Message{m}, 1)
		}
		w.compareMeters(t, s)
		w.compareHolds(t, s)
		if d := cmp.Diff(w.counts, s.Counts()); d != "" {
			t.Fatalf("counts: %s", d)
		}
		now := w.logTime + rapid.Int64Range(0, 4_000_000).Draw(t, "later")
		w.compare(t, s, now)
	})
}

func (w *twin) compare(t *rapid.T, s *projector.State, now int64) {
	pairs := map[used]bool{}
	for _, u := range w.used {
		for _, p := range u.pairs() {
			pairs[p] = true
		}
	}
	for p := range pairs {
		for unit := range quota.Unit(quota.NumUnits) {
			for win := range quota.Window(quota.NumWindows) {
				want := w.counter(p, unit, win, now)
				if p.model != "" && win != quota.Hourly {
					want = windows.Counter{Index: now / win.Millis()}
				}
				if got := s.Counter(p.conn, p.key, p.model, unit, win).Rotate(now / win.Millis()); got != want {
					t.Fatalf("%+v %s %s: %+v, want %+v", p, unit, win, got, want)
				}
			}
		}
	}
}
