package saturation

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
)

const (
	twinKeys = 3
	start    = 1_790_000_000_000
	point    = quota.Amount(1e6)
)

// pair is a meter and its twin, to which the same happens.
type pair struct {
	t     *rapid.T
	m     *Meter
	twin  twin
	now   int64
	store store
}

func newPair(t *rapid.T) *pair {
	w := rapid.SampledFrom([]quota.Window{quota.Hourly, quota.FiveHour, quota.Rate}).Draw(t, "window")
	ttl := rapid.SampledFrom([]int64{30_000, 1, 7_200_000}).Draw(t, "signal lives")
	return &pair{t: t, m: NewMeter(w), twin: twin{width: w.Millis(), ttl: ttl}, now: start, store: store{window: w}}
}

// step moves the clock, sometimes to where something ends.
func (p *pair) step() {
	m := p.m
	ends := []int64{m.ResetAt, m.Other.ResetAt, m.Observed + p.twin.ttl, m.Observed + p.twin.ttl + 1, m.PartsUntil()}
	p.now = rapid.OneOf(
		rapid.Map(rapid.SampledFrom([]int64{0, 1, 1_000, 20_000, 31_000, 600_000, 3_600_000}), func(d int64) int64 { return p.now + d }),
		rapid.Map(rapid.SampledFrom(ends), func(end int64) int64 { return max(p.now, end) }),
	).Draw(p.t, "now")
}

// drawReading draws one near the edges of what is known.
func (p *pair) drawReading() Observation {
	m, t := p.m, p.t
	return Observation{
		At: p.now - rapid.SampledFrom([]int64{0, 0, 0, 1, 20_000, 600_000}).Draw(t, "late"),
		Used: max(0, rapid.OneOf(
			rapid.Map(rapid.SampledFrom([]quota.Amount{
				0, 1, point, 7 * point, -1, -4 * point, -5 * point, -5*point + 1, -20 * point, -20*point + 1,
			}), func(d quota.Amount) quota.Amount { return m.Used + d }),
			rapid.SampledFrom([]quota.Amount{0, point, point + 1, 3 * point, 74 * point, 104 * point, quota.Percent.Max(), m.Other.Used, m.Other.Used + point}),
			rapid.Map(rapid.Int64Range(0, 120e6), func(a int64) quota.Amount { return quota.Amount(a) }),
		).Draw(t, "used")),
		ResetAt: max(0, rapid.OneOf(
			rapid.Just(int64(0)),
			rapid.Map(rapid.SampledFrom([]int64{0, 1_900, 60_000, 60_001, -60_000, -60_001, 339_760}), func(d int64) int64 { return m.ResetAt + d }),
			rapid.Map(rapid.SampledFrom([]int64{0, 60_000, 60_001, -60_000}), func(d int64) int64 { return m.Other.ResetAt + d }),
			rapid.Map(rapid.SampledFrom([]int64{0, 1_000, 600_000, m.width, 2 * m.width, 2*m.width + 1}), func(d int64) int64 { return p.now + d }),
		).Draw(t, "reset")),
		HoldOpen: rapid.SampledFrom([]bool{false, false, true}).Draw(t, "hold"),
	}
}

// drawReturn draws one of the remembered window, near what it had then.
func (p *pair) drawReturn() Observation {
	m := p.m
	o := p.drawReading()
	o.ResetAt = max(0, m.Other.ResetAt+rapid.SampledFrom([]int64{0, 1_900, 60_000, 60_001, -60_000, -60_001}).Draw(p.t, "jitter"))
	o.Used = max(0, max(m.Used, m.Other.Used)+rapid.SampledFrom([]quota.Amount{-1, 0, 1, 2 * point}).Draw(p.t, "rise"))
	return o
}

func (p *pair) read(o Observation) {
	p.twin.log = append(p.twin.log, twinOp{reading: &o})
	want := p.twin.state()
	if as, tooFar := p.m.Read(o, p.twin.ttl); as.String() != want.last || tooFar != want.tooFar {
		p.t.Fatalf("%+v is taken for %v, too far %t; want %s, %t", o, as, tooFar, want.last, want.tooFar)
	}
}

func (p *pair) use() {
	p.step()
	t := p.t
	op := twinOp{
		key: uint32(rapid.IntRange(0, twinKeys-1).Draw(t, "key")),
		at: rapid.OneOf(
			rapid.Map(rapid.SampledFrom([]int64{0, 1, 600_000, -120_000}), func(late int64) int64 { return p.now - late }),
			rapid.SampledFrom([]int64{p.m.ResetAt - 1, p.m.ResetAt, p.m.ResetAt + 1}),
		).Draw(t, "time"),
		priced: rapid.SampledFrom([]bool{true, true, true, false}).Draw(t, "priced"),
		cost: quota.Amounts{
			quota.Requests: quota.Amount(rapid.SampledFrom([]int64{1_000, 1_000, 0}).Draw(t, "requests")),
			quota.Tokens:   quota.Amount(rapid.SampledFrom([]int64{0, 1_000, 333_000, 1e15}).Draw(t, "tokens")),
		},
	}
	if op.priced {
		op.cost[quota.USD] = quota.Amount(rapid.SampledFrom([]int64{0, 13e6, 2e9, 1e15}).Draw(t, "usd"))
	}
	p.twin.log = append(p.twin.log, op)
	p.m.Use(op.key, op.at, &op.cost, op.priced)
}

// restart goes on with what the store has.
func (p *pair) restart() {
	p.store.commit(p.m)
	p.m = p.store.load(p.t)
}

// TestAgainstLog: whatever happens, in whatever order and however often it is
// stored and loaded in between, the meter says what follows from the log.
func TestAgainstLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t)
		t.Repeat(map[string]func(*rapid.T){
			"read":    func(*rapid.T) { p.step(); p.read(p.drawReading()) },
			"return":  func(*rapid.T) { p.step(); p.read(p.drawReturn()) },
			"at once": func(*rapid.T) { p.read(p.drawReading()) },
			"use":     func(*rapid.T) { p.use() },
			"commit":  func(*rapid.T) { p.store.commit(p.m) },
			"restart": func(*rapid.T) { p.restart() },
			"":        func(*rapid.T) { p.check() },
		})
	})
}

// check compares both at instants around those at which something ends.
func (p *pair) check() {
	if !p.m.valid() {
		p.t.Fatalf("invalid: %+v", p.m.Head)
	}
	s := p.twin.state()
	if got, want := [2]int64{p.m.Newest, p.m.NextNewest}, [2]int64{latest(s.local), latest(s.next)}; got != want {
		p.t.Fatalf("the newest usage of the cycle and of the next is at %d, want %d", got, want)
	}
	for _, now := range []int64{
		p.now, p.now + 1, p.m.PartsUntil() - 1, p.m.PartsUntil(), s.reset - 1, s.reset, s.observed + s.ttl - 1, s.observed + s.ttl,
		s.other.observed + s.ttl - 1, s.other.observed + s.ttl, s.other.reset - 1, s.other.reset,
	} {
		p.checkAt(s, max(now, 0))
	}
}

func (p *pair) checkAt(s *twinState, now int64) {
	m := p.m
	used, known := s.value(now)
	l, ok := m.At(now, s.ttl)
	if ok != known || int64(l.Used) != used {
		p.t.Fatalf("at %d: %d, known %t; want %d, %t", now, l.Used, ok, used, known)
	}
	parts := quota.Amount(0)
	for key := range uint32(twinKeys) {
		part := p.part(now, m.Local(key))
		if want := s.part(now, key); int64(part) != want {
			p.t.Fatalf("at %d key %d has %d, want %d", now, key, part, want)
		}
		parts += part
	}
	if got, want := p.part(now, m.LocalTotal().Minus(m.Local(0))), s.part(now, 1, 2); int64(got) != want {
		p.t.Fatalf("at %d all but key 0 have %d, want %d", now, got, want)
	}
	p.checkExcerpt(now, s.ttl)
	if points, ok := m.Unattributed(now, s.ttl); ok != known || ok && parts+points != l.Used || points < 0 {
		p.t.Fatalf("at %d: parts %d and %d of nobody, together not %d", now, parts, points, l.Used)
	}
}

// checkExcerpt asks an excerpt for some of the keys as one asks the meter.
func (p *pair) checkExcerpt(now, ttl int64) {
	const rest = 99
	m, x := p.m, Excerpt(p.m, []uint32{2, 0, 50}, rest)
	for _, key := range []uint32{0, 2, 50} {
		if x.Local(key) != m.Local(key) {
			p.t.Fatalf("the excerpt has %+v of key %d, the meter %+v", x.Local(key), key, m.Local(key))
		}
	}
	l, ok := m.At(now, ttl)
	if y, known := x.At(now, ttl); y != l || known != ok || x.PartsUntil() != m.PartsUntil() {
		p.t.Fatalf("at %d the excerpt says %+v, the meter %+v", now, y, l)
	}
	if x.Local(rest) != m.Local(1) || x.LocalTotal() != m.LocalTotal() || x.Part(x.Local(rest)) != m.Part(m.Local(1)) {
		p.t.Fatalf("the rest of the excerpt is %+v of %+v", x.Local(rest), x.LocalTotal())
	}
}

// part is what a decision would count.
func (p *pair) part(now int64, u Usage) quota.Amount {
	if now >= p.m.PartsUntil() {
		return 0
	}
	return p.m.Part(u)
}

// TestNothingIsLostOrInvented: under any interleaving of usage, of any size, and
// readings, the parts and what is nobody's make up the level, and of the pot
// only what is rounded off is nobody's.
func TestNothingIsLostOrInvented(t *testing.T) {
	const keys = 40
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t)
		t.Repeat(map[string]func(*rapid.T){
			"read": func(*rapid.T) { p.step(); p.read(p.drawReading()) },
			"use": func(t *rapid.T) {
				some := rapid.Map(rapid.OneOf(rapid.Int64Range(0, 10), rapid.Int64Min(0)), func(a int64) quota.Amount { return quota.Amount(a) })
				cost := quota.Amounts{some.Draw(t, "requests"), some.Draw(t, "tokens"), some.Draw(t, "usd"), 0}
				p.m.Use(rapid.Uint32Range(0, keys-1).Draw(t, "key"), p.now, &cost, rapid.Bool().Draw(t, "priced"))
			},
			"": func(t *rapid.T) {
				m := p.m
				parts, counted := quota.Amount(0), m.LocalTotal() != Usage{}
				for key := range uint32(keys) {
					parts += m.Part(m.Local(key))
				}
				points, ok := m.Unattributed(p.now, p.twin.ttl)
				if l, _ := m.At(p.now, p.twin.ttl); ok && p.now < m.PartsUntil() && (points < 0 || parts+points != l.Used) {
					t.Fatalf("parts %d and %d of nobody are not %d", parts, points, l.Used)
				}
				if _, all := m.weigh(Usage{}); parts > m.Pot || counted && all > 0 && parts <= m.Pot-keys {
					t.Fatalf("parts %d of a pot of %d", parts, m.Pot)
				}
			},
		})
	})
}
