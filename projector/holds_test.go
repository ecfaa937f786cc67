package projector

import (
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/quota"
)

// holdsTwin is a list of holds, and what a store would have of them.
type holdsTwin struct {
	*rapid.T
	s      *State
	open   map[idHash]hold
	stored keptRecords
}

// keptRecords is a batch that is in the store at once.
type keptRecords map[string]string

func (k keptRecords) Set(key, value []byte) error   { k[string(key)] = string(value); return nil }
func (k keptRecords) Merge(_, _ []byte) error       { return nil }
func (k keptRecords) Delete(key []byte) error       { delete(k, string(key)); return nil }
func (k keptRecords) DeleteRange(_, _ []byte) error { return nil }
func (k keptRecords) Close() error                  { return nil }

var heldAmounts = rapid.SampledFrom([]quota.Amount{0, 0, 1, 1000, 1000, 1000, 2000, 30_000, 1e15, 1e18})

// drawAmounts draws what a hold holds, up to what an event can have.
func drawAmounts(t *rapid.T) (a quota.Amounts) {
	for u := range quota.Unit(quota.NumUnits) {
		a[u] = min(heldAmounts.Draw(t, "amount"), u.Max())
	}
	return a
}

func drawID(t *rapid.T) idHash { return idHash{byte(rapid.IntRange(0, 9).Draw(t, "id"))} }

func drawHold(t *rapid.T, now int64) hold {
	return hold{
		id: drawID(t), amounts: drawAmounts(t), end: now + rapid.Int64Range(1, 50).Draw(t, "lease"), lease: 50,
		pairKey: pairKey{
			conn: ref(rapid.IntRange(1, 3).Draw(t, "conn")), key: ref(rapid.IntRange(1, 3).Draw(t, "key")), model: ref(rapid.IntRange(0, 2).Draw(t, "model")),
		},
	}
}

func (w *holdsTwin) cut() {
	if err := w.s.cutHolds(w.stored); err != nil {
		w.Fatal(err)
	}
}

// step does one thing to the holds and to the twin.
func (w *holdsTwin) step() {
	h := w.s.holds
	id := drawID(w.T)
	x, open := w.open[id]
	switch what := rapid.IntRange(0, 7).Draw(w.T, "what"); {
	case what == 0:
		w.cut()
	case what == 1:
		w.s.logTime += rapid.Int64Range(0, 20).Draw(w.T, "pass")
		w.s.expireHolds()
		for id, x := range w.open {
			if x.end <= w.s.logTime {
				delete(w.open, id)
			}
		}
	case !open:
		x = drawHold(w.T, w.s.logTime)
		x.id = id
		h.touch(h.add(x))
		w.open[id] = x
	case what < 4:
		h.remove(h.byID[id])
		delete(w.open, id)
	default:
		by := drawAmounts(w.T)
		for u := range x.amounts {
			if x.amounts[u] -= by[u]; x.amounts[u] < 0 {
				x.amounts[u] = 0
			}
		}
		x.end = w.s.logTime + 50
		h.lower(h.byID[id], &by, x.end)
		w.open[id] = x
	}
}

// TestHoldsEqualTheirDumbTwin: whatever is opened, lowered and ended, the sums, the
// orders and the records are those of the holds that are open.
func TestHoldsEqualTheirDumbTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &holdsTwin{T: t, s: NewState(nil), open: map[idHash]hold{}, stored: keptRecords{}}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.step()
			w.compare()
		}
		w.cut()
		w.compareRecords()
	})
}

// compare compares what there is of the open holds.
func (w *holdsTwin) compare() {
	h := w.s.holds
	if h.len() != len(w.open) || len(h.byID) != len(w.open) {
		w.Fatalf("%d holds and %d ids, want %d", h.len(), len(h.byID), len(w.open))
	}
	sums := map[pairKey]*[quota.NumUnits]big.Int{}
	count := map[pairKey]uint32{}
	for id, want := range w.open {
		x := h.at(h.byID[id])
		if x.id != id || !x.open || x.pairKey != want.pairKey || x.amounts != want.amounts || x.end != want.end || x.lease != want.lease {
			w.Fatalf("hold %+v, want %+v", x, want)
		}
		names := []pairKey{{conn: x.conn}, {conn: x.conn, key: x.key}, x.pairKey}
		for _, name := range slices.Compact(names) {
			count[name]++
			if sums[name] == nil {
				sums[name] = new([quota.NumUnits]big.Int)
			}
			for u, a := range x.amounts {
				sums[name][u].Add(&sums[name][u], big.NewInt(int64(a)))
			}
		}
	}
	for name, want := range sums {
		g, i := w.groupOf(name)
		w.compareGroup(g, i, name, count[name], want)
	}
	w.compareOrders()
	w.nothingLeaks(len(sums))
}

func (w *holdsTwin) groupOf(name pairKey) (*group, int) {
	h := w.s.holds
	switch {
	case name.key == 0:
		return &h.on(name.conn).group, ofConnection
	case name.model == 0:
		return h.group(name), ofKey
	}
	return h.group(name), ofModel
}

func (w *holdsTwin) compareGroup(g *group, i int, name pairKey, n uint32, sums *[quota.NumUnits]big.Int) {
	for u := range sums {
		if got := g.sum[u].amount(); big.NewInt(int64(got)).Cmp(atMost(&sums[u])) != 0 {
			w.Fatalf("%v of unit %d: sum %d, want %s", name, u, got, &sums[u])
		}
	}
	listed := uint32(0)
	w.s.holds.each(g, i, func(x *hold) {
		listed++
		if x.conn != name.conn || name.key != 0 && x.key != name.key || name.model != 0 && x.model != name.model {
			w.Fatalf("%v has hold %+v", name, x)
		}
	})
	if g.n != n || listed != n {
		w.Fatalf("%v counts %d and lists %d, want %d", name, g.n, listed, n)
	}
}

// atMost is the sum as an amount.
func atMost(sum *big.Int) *big.Int {
	if sum.IsInt64() {
		return sum
	}
	return big.NewInt(1<<63 - 1)
}

// compareOrders looks at every place of every order.
func (w *holdsTwin) compareOrders() {
	h := w.s.holds
	w.compareOrder(h.ends, byEnd, len(w.open))
	for conn := ref(1); conn <= 3; conn++ {
		c := h.on(conn)
		if c == nil {
			continue
		}
		w.compareOrder(c.ends, byEndOnConn, w.openOn(conn, func(*hold) bool { return true }))
		for u := range quota.NumUnits {
			w.compareOrder(c.largest[u], u, w.openOn(conn, func(x *hold) bool { return x.amounts[u] > 0 }))
		}
	}
}

// openOn returns how many on the connection are such.
func (w *holdsTwin) openOn(conn ref, such func(*hold) bool) (n int) {
	for _, x := range w.open {
		if x.conn == conn && such(&x) {
			n++
		}
	}
	return n
}

func (w *holdsTwin) compareOrder(q []uint32, order, n int) {
	h := w.s.holds
	if len(q) != n {
		w.Fatalf("%d in order %d, want %d", len(q), order, n)
	}
	for i, at := range q {
		if x := h.at(at); !x.open || x.at[order] != uint32(i) || h.at(q[max(0, i-1)/2]).rank(order) > x.rank(order) {
			w.Fatalf("order %d: %+v at %d, below %d", order, x, i, h.at(q[max(0, i-1)/2]).rank(order))
		}
	}
}

// nothingLeaks: every place is used or free, and only groups with holds are there.
func (w *holdsTwin) nothingLeaks(names int) {
	h := w.s.holds
	conns := 0
	for conn := ref(1); conn <= 3; conn++ {
		if h.on(conn) != nil {
			conns++
		}
	}
	if int(h.list.n) != 1+len(h.free)+len(w.open) || int(h.groups.n) != 1+len(h.unused)+len(h.byGroup) || len(h.byGroup)+conns != names {
		w.Fatalf("%d places and %d free, %d groups and %d unused, %d names and %d connections, for %d holds in %d",
			h.list.n, len(h.free), h.groups.n, len(h.unused), len(h.byGroup), conns, len(w.open), names)
	}
}

// compareRecords compares the store with the open holds.
func (w *holdsTwin) compareRecords() {
	want := keptRecords{}
	for id, x := range w.open {
		want[string(appendHoldKey(nil, &id))] = string(x.append(nil))
	}
	if d := cmp.Diff(want, w.stored); d != "" {
		w.Fatalf("records (-twin +store): %s", d)
	}
}

// TestWhatIsLoweredIsWrittenOnce: over what the store has, which is not deleted.
func TestWhatIsLoweredIsWrittenOnce(t *testing.T) {
	s := NewState(nil)
	at := s.holds.add(hold{id: idHash{1}, pairKey: pairKey{conn: 1, key: 1}, amounts: quota.Amounts{5}, end: 10, lease: 10, stored: true})
	s.holds.lower(at, &quota.Amounts{2}, 20)
	s.holds.lower(s.holds.byID[idHash{1}], &quota.Amounts{1}, 30)
	if h := s.holds; len(h.dirty) != 1 || len(h.gone) != 0 || h.at(1).amounts[0] != 2 {
		t.Errorf("%d to write and %d to delete, of %+v", len(h.dirty), len(h.gone), h.at(1))
	}
}

// TestHeldIsWhatTheHoldsAddUpTo: the sums by groups and orders are those of going
// along all holds, whoever asks, and when, and whatever each may count with.
func TestHeldIsWhatTheHoldsAddUpTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewState(nil)
		s.logTime = 1000
		for range rapid.IntRange(1, 30).Draw(t, "holds") {
			x := drawHold(t, s.logTime)
			x.id = idHash{1, byte(s.holds.len())}
			s.holds.add(x)
		}
		p := &pool{conns: []ref{1, 2}[:rapid.IntRange(1, 2).Draw(t, "conns")], alloc: map[ref]int{}, others: -1}
		for _, key := range []ref{1, 2, 7, 8, 9}[:rapid.IntRange(0, 5).Draw(t, "listed")] {
			p.alloc[key], p.listed = len(p.listed), append(p.listed, key)
		}
		for range 4 {
			r := &reader{s: s, p: p, key: ref(rapid.IntRange(0, 3).Draw(t, "asker")), model: ref(rapid.IntRange(0, 2).Draw(t, "model"))}
			if _, own := p.alloc[r.key]; !own && rapid.Bool().Draw(t, "together") {
				r.others = new(unlisted)
			}
			if rapid.Bool().Draw(t, "again") {
				r.without = uint32(rapid.IntRange(1, s.holds.len()).Draw(t, "which"))
			}
			for range 3 {
				compareHeld(t, r, 1000+rapid.Int64Range(0, 51).Draw(t, "later"))
			}
		}
	})
}

func compareHeld(t *rapid.T, r *reader, now int64) {
	most := rapid.OneOf(heldAmounts, rapid.Just(quota.Amount(1500))).Draw(t, "most")
	list := r.Holds(nil)
	for u := range quota.Unit(quota.NumUnits) {
		for whose := range fairshare.OfAskersModel + 1 {
			want := new(big.Int)
			for at := uint32(1); at < r.s.holds.list.n; at++ {
				if x := r.s.holds.at(at); at != r.without && x.end > now && slices.Contains(r.p.conns, x.conn) && asked(r, x, whose) {
					want.Add(want, big.NewInt(int64(clamped(x.amounts[u], most))))
				}
			}
			if got := r.Held(u, most, whose, now); big.NewInt(int64(got)).Cmp(atMost(want)) != 0 {
				t.Fatalf("unit %s of %d at %d, each at most %d: %d, want %s", u, whose, now, most, got, want)
			}
			var listed quota.Amount
			for _, x := range list {
				if x.End > now && (whose == fairshare.OfAll || whose == fairshare.OfAsker && x.Key || whose == fairshare.OfAskersModel && x.Model) {
					listed = quota.AddSat(listed, clamped(x.Amounts[u], most))
				}
			}
			if big.NewInt(int64(listed)).Cmp(atMost(want)) != 0 {
				t.Fatalf("unit %s of %d at %d: those listed hold %d, want %s", u, whose, now, listed, want)
			}
		}
	}
}

func clamped(a, most quota.Amount) quota.Amount {
	if most == 0 {
		return a
	}
	return min(a, most)
}

// asked reports whether a hold is one of the asked ones.
func asked(r *reader, x *hold, whose fairshare.Whose) bool {
	switch {
	case whose == fairshare.OfAll:
		return true
	case whose == fairshare.OfAsker && r.others != nil:
		return !slices.Contains(r.p.listed, x.key)
	case x.key != r.key:
		return false
	}
	return whose == fairshare.OfAsker || r.model != 0 && x.model == r.model
}

// TestAMillionLargestHolds: their sum is more than an amount can be, and is right
// again when most of them are over.
func TestAMillionLargestHolds(t *testing.T) {
	var s heldSum
	most := quota.Percent.Max()
	for range MaxHolds {
		s.add(most)
	}
	if got := s.amount(); got != 1<<63-1 {
		t.Errorf("a million of the largest are %d", got)
	}
	for range MaxHolds - 3 {
		s.sub(most)
	}
	s.sub(1)
	if got := s.amount(); got != 3*most-1 {
		t.Errorf("three of them but for one step are %d", got)
	}
}

// TestDamagedHoldsAreRefused: whichever byte of a hold's record is another, Load
// says so, or loads a hold that could have been.
func TestDamagedHoldsAreRefused(t *testing.T) {
	good := hold{id: idHash{7}, pairKey: pairKey{conn: 1, key: 1, model: 2}, amounts: quota.Amounts{1000, 5_000_000, 0, 3}, end: 5_000, lease: 4_000}
	s := NewState(nil)
	s.logTime = 2_000
	s.connRef("c")
	s.names.intern("alice")
	s.names.intern("gpt")
	load := func(key, value []byte) (loaded bool) {
		if err := s.loadHold(key, value); err != nil {
			return false
		}
		x := *s.holds.at(1)
		if x.end <= s.logTime || x.end-s.logTime > x.lease || x.lease > events.MaxLeaseMs || x.amounts[quota.USD] > quota.USD.Max() || s.holds.len() != 1 {
			t.Errorf("loaded %+v", x)
		}
		s.holds.remove(1)
		return true
	}
	key, value := appendHoldKey(nil, &good.id), good.append(nil)
	if !load(key, value) {
		t.Fatal("the hold as it was is refused")
	}
	for i := range value {
		for b := range 256 {
			bad := slices.Clone(value)
			bad[i] = byte(b)
			load(key, bad)
		}
		if load(key, value[:i]) || load(key, append(slices.Clone(value), value[i])) {
			t.Errorf("loaded a record of another length, by %d bytes", i)
		}
	}
	for u := range quota.Unit(quota.NumUnits) {
		x := good
		for _, more := range []quota.Amount{0, 1} {
			if x.amounts[u] = u.Max() + more; load(key, x.append(nil)) != (more == 0) {
				t.Errorf("loaded %d of %s: %t", x.amounts[u], u, more > 0)
			}
		}
	}
	for more := range int64(2) {
		x := good
		if x.lease = events.MaxLeaseMs + more; load(key, x.append(nil)) != (more == 0) {
			t.Errorf("loaded a lease of %d: %t", x.lease, more > 0)
		}
	}
	if load(key[:16], value) || load(append(slices.Clone(key), 0), value) {
		t.Error("loaded a hold with no id")
	}
}
