package saturation

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/quotashare/quotashare/quota"
)

// request is one call of the simulation below.
type request struct {
	key        uint32
	begin, end int64
	tokens     quota.Amount
}

// traffic is 8,000 requests of 20 keys over four hours: sizes over two orders of
// magnitude, the large ones slow, a dozen in flight at any time.
func traffic(r *rand.Rand) []request {
	all := make([]request, 8_000)
	for i := range all {
		tokens := 100 + r.Int64N(1_000)
		if r.IntN(10) == 0 {
			tokens *= 10
		}
		begin := start + r.Int64N(14_000_000)
		all[i] = request{uint32(i % 20), begin, begin + 1_000 + 20*tokens, quota.Amount(tokens * 1_000)}
	}
	return all
}

// moment is the begin or the end of a request.
type moment struct {
	at    int64
	ends  bool
	which *request
}

func moments(all []request) []moment {
	var list []moment
	for i := range all {
		list = append(list, moment{all[i].begin, false, &all[i]}, moment{all[i].end, true, &all[i]})
	}
	slices.SortStableFunc(list, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	return list
}

// TestPartsAreTrue: the provider says whole points, in each response's head;
// tokens are known at each response's end; 80 points go away in all. Every key
// must be charged its true part of them within 5 %.
func TestPartsAreTrue(t *testing.T) {
	all := traffic(rand.New(rand.NewPCG(1, 2)))
	truth, sum := [20]quota.Amount{}, quota.Amount(0)
	for i := range all {
		truth[all[i].key] += all[i].tokens
		sum += all[i].tokens
	}
	m := NewMeter(quota.FiveHour)
	m.Read(Observation{At: start, Used: 3 * point, ResetAt: start + 18_000_000}, vectorTTL)
	metered := quota.Amount(0) // by the provider, when a response is over
	said := func(at int64) {
		used := 3*point + metered*80/sum*point
		m.Read(Observation{At: at, Used: used, ResetAt: start + 18_000_000 + at%1_900}, vectorTTL)
	}
	for _, x := range moments(all) {
		if !x.ends {
			said(x.at)
			continue
		}
		metered += x.which.tokens
		m.Use(x.which.key, x.at, &quota.Amounts{quota.Requests: 1_000, quota.Tokens: x.which.tokens}, false)
	}
	said(start + 17_000_000)
	if m.Used != 83*point || m.Pot != 80*point {
		t.Fatalf("%d used, %d of it in the pot", m.Used, m.Pot)
	}
	for key, tokens := range truth {
		want := tokens * 80 / (sum / point)
		got := m.Part(m.Local(uint32(key)))
		if off := max(got, want) - min(got, want); off*100 > 5*want {
			t.Errorf("key %d is charged %d, its true part is %d", key, got, want)
		}
	}
}

// TestSumsHaveRoom: what a total has no room for is in no row, so parts never
// add up to more than the pot.
func TestSumsHaveRoom(t *testing.T) {
	m := NewMeter(quota.FiveHour)
	m.Read(Observation{At: start, ResetAt: start + 3_600_000}, vectorTTL)
	huge := quota.Amounts{math.MaxInt64 - 1, math.MaxInt64 - 1, math.MaxInt64 - 1, 0}
	for key := range uint32(3) {
		m.Use(key, start, &huge, true)
	}
	m.Use(3, start, &quota.Amounts{-1, -1, -1, 0}, true)
	full := Usage{math.MaxInt64, math.MaxInt64, math.MaxInt64}
	if m.LocalTotal() != full || m.Local(1) != (Usage{1, 1, 1}) || m.Local(2) != (Usage{}) || m.Local(3) != (Usage{}) {
		t.Errorf("of %+v: %+v, %+v, %+v", m.LocalTotal(), m.Local(1), m.Local(2), m.Local(3))
	}
	m.Read(Observation{At: start, Used: quota.Percent.Max(), ResetAt: start + 3_600_000}, vectorTTL)
	if got := m.Part(full); got != quota.Percent.Max() {
		t.Errorf("all together have %d of the pot", got)
	}
	if points, _ := m.Unattributed(start, vectorTTL); points != 1 {
		t.Errorf("%d points are nobody's, want the one that is rounded off", points)
	}
	for _, u := range []Usage{{1, 1, math.MinInt64}, {}} {
		if got := m.Part(u); got != 0 {
			t.Errorf("%+v has %d", u, got)
		}
	}
}

// TestUseOfKnownKeyAllocatesNothing, as it stands in the way of every event.
func TestUseOfKnownKeyAllocatesNothing(t *testing.T) {
	m := NewMeter(quota.FiveHour)
	m.Read(Observation{At: start, ResetAt: start + 3_600_000}, vectorTTL)
	use(m, 1, start, 1)
	if n := testing.AllocsPerRun(100, func() { use(m, 1, start, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestMemoryPerKey holds a full meter to 64 bytes a key, all included, at the
// sizes at which an index has just grown too.
func TestMemoryPerKey(t *testing.T) {
	for _, keys := range []uint32{30_000, 60_000, 100_000} {
		before := heap()
		m := NewMeter(quota.FiveHour)
		m.Read(Observation{At: start, ResetAt: start + 3_600_000}, vectorTTL)
		for key := range keys {
			use(m, key, start, 1)
			if key%128 == 0 {
				m.Saved()
			}
		}
		if each := float64(heap()-before) / float64(keys); each > 64 {
			t.Errorf("%d keys take %.1f bytes each", keys, each)
		}
		runtime.KeepAlive(m)
	}
}

// TestMemoryOfFewKeys, as most of thousands of meters have.
func TestMemoryOfFewKeys(t *testing.T) {
	before := heap()
	meters := make([]*Meter, 1_000)
	for i := range meters {
		meters[i] = NewMeter(quota.FiveHour)
		meters[i].Read(Observation{At: start, ResetAt: start + 3_600_000}, vectorTTL)
		use(meters[i], 1, start, 1)
	}
	if each := (heap() - before) / 1_000; each > 3_072 {
		t.Errorf("a meter with one key takes %d bytes", each)
	}
	runtime.KeepAlive(meters)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// TestNewCycleLetsGo: a cycle's rows are garbage the moment it is over.
func TestNewCycleLetsGo(t *testing.T) {
	m := NewMeter(quota.FiveHour)
	m.Read(Observation{At: start, ResetAt: start + 3_600_000}, vectorTTL)
	before := heap()
	for key := range uint32(50_000) {
		use(m, key, start, 1)
	}
	m.Read(Observation{At: start + 3_600_000, Used: point}, vectorTTL)
	if kept := heap() - before; kept > 100_000 {
		t.Errorf("%d bytes of the old cycle are kept", kept)
	}
	runtime.KeepAlive(m)
}

func BenchmarkUse(b *testing.B) {
	for name, keys := range map[string]uint32{"1 key": 1, "100,000 keys": 100_000} {
		b.Run(name, func(b *testing.B) {
			m := NewMeter(quota.FiveHour)
			m.Read(Observation{At: start, ResetAt: start + 3_600_000}, vectorTTL)
			for key := range keys {
				use(m, key, start, 1)
			}
			m.Saved()
			b.ReportAllocs()
			b.ResetTimer()
			for i := range uint32(b.N) {
				use(m, i*2_654_435_761%keys, start, 1)
			}
		})
	}
}

func BenchmarkPart(b *testing.B) {
	m := NewMeter(quota.FiveHour)
	m.Read(Observation{At: start, ResetAt: start + 3_600_000}, vectorTTL)
	use(m, 1, start, 7)
	use(m, 2, start, 4)
	m.Read(Observation{At: start, Used: 33 * point, ResetAt: start + 3_600_000}, vectorTTL)
	for range b.N {
		m.Part(m.Local(1))
	}
}
