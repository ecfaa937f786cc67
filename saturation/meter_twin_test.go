package saturation

import (
	"math/big"

	"github.com/quotashare/quotashare/quota"
)

// twinOp is a reading or a consumption, at its place in the log.
type twinOp struct {
	reading *Observation
	key     uint32
	at      int64
	cost    quota.Amounts
	priced  bool
}

// twin is the meter in the dumbest way there is: it keeps all that happened,
// and works out anew what follows from it.
type twin struct {
	width, ttl int64
	log        []twinOp
}

// twinState is what follows. Usage is kept as the list of its events.
type twinState struct {
	width, ttl                   int64
	any                          bool // something was read
	used, reset, observed, start int64
	pot                          int64
	local, next                  []twinOp
	fresh                        bool // usage was counted since the last increase
	other                        struct{ used, reset, observed int64 }
	last                         string // what the last reading was taken for
	tooFar                       bool   // its reset was ignored
}

func (w *twin) state() *twinState {
	s := &twinState{width: w.width, ttl: w.ttl}
	for _, op := range w.log {
		if op.reading != nil {
			s.read(*op.reading)
			continue
		}
		s.use(op)
	}
	return s
}

func (s *twinState) use(op twinOp) {
	switch {
	case !s.any:
	case s.reset != 0 && op.at >= s.reset:
		s.next = append(s.next, op)
	default:
		s.local = append(s.local, op)
		s.fresh = true
	}
}

// read goes through the table from its first line to its last.
func (s *twinState) read(r Observation) {
	s.tooFar = r.ResetAt > r.At+2*s.width
	if s.tooFar {
		r.ResetAt = 0
	}
	used, t := int64(r.Used), r.At
	bothKnown := s.reset != 0 && r.ResetAt != 0
	apart := bothKnown && (s.reset-r.ResetAt > 60_000 || r.ResetAt-s.reset > 60_000)
	notSeen := t-s.observed > s.ttl
	const point = 1_000_000
	table := []struct {
		name string
		when bool
		then func(Observation)
	}{
		{"stale", s.any && t < s.observed, func(Observation) {}},
		{"first", !s.any, s.first},
		{"rollover", s.reset != 0 && t >= s.reset, s.over},
		{"moved", apart && used >= s.used, s.moved},
		{"rollover", apart && (r.ResetAt > s.reset || notSeen), s.replaced},
		{"older-window", apart, s.older},
		{"advance", used >= s.used, s.advance},
		{"early-reset", used <= point || s.used-used >= 20*point || s.used-used >= 5*point && notSeen, s.anew},
		{"noise", true, func(Observation) {}},
	}
	for _, line := range table {
		if line.when {
			s.last = line.name
			line.then(r)
			return
		}
	}
}

func (s *twinState) first(r Observation) {
	s.any = true
	s.used, s.reset, s.observed, s.start = int64(r.Used), r.ResetAt, r.At, r.At
}

func (s *twinState) over(r Observation) {
	local := s.next
	s.cycle(r, r.ResetAt)
	s.local, s.fresh = local, len(local) > 0
	s.increase(int64(r.Used), r.HoldOpen)
}

func (s *twinState) replaced(r Observation) {
	s.other.used, s.other.reset, s.other.observed = s.used, s.reset, s.observed
	s.cycle(r, r.ResetAt)
	s.increase(int64(r.Used), r.HoldOpen)
}

func (s *twinState) anew(r Observation) {
	reset := r.ResetAt
	if reset == 0 {
		reset = s.reset
	}
	s.cycle(r, reset)
	s.increase(int64(r.Used), r.HoldOpen)
}

// cycle is a new cycle with empty local usage.
func (s *twinState) cycle(r Observation, reset int64) {
	s.used, s.reset, s.observed, s.start = int64(r.Used), reset, r.At, r.At
	s.pot, s.local, s.next, s.fresh = 0, nil, nil, false
}

func (s *twinState) older(r Observation) {
	s.other.used, s.other.reset, s.other.observed = int64(r.Used), r.ResetAt, r.At
}

func (s *twinState) moved(r Observation) {
	from := s.used
	if d := r.ResetAt - s.other.reset; s.other.reset != 0 && -60_000 <= d && d <= 60_000 && s.other.used > from {
		from = s.other.used
	}
	s.increase(int64(r.Used)-from, r.HoldOpen)
	s.used, s.reset, s.observed = int64(r.Used), r.ResetAt, r.At
}

func (s *twinState) advance(r Observation) {
	s.increase(int64(r.Used)-s.used, r.HoldOpen)
	s.used, s.observed = int64(r.Used), r.At
	if r.ResetAt != 0 {
		s.reset = r.ResetAt
	}
}

func (s *twinState) increase(points int64, hold bool) {
	if points <= 0 {
		return
	}
	if s.fresh || hold {
		s.pot += points
	}
	s.fresh = false
}

// value is the larger of the levels that stand at that instant.
func (s *twinState) value(now int64) (used int64, known bool) {
	if s.any && (s.reset != 0 && now < s.reset || s.reset == 0 && now < s.observed+s.ttl) {
		used, known = s.used, true
	}
	if s.other.reset != 0 && now < s.other.reset && now < s.other.observed+s.ttl {
		used, known = max(used, s.other.used), true
	}
	return used, known
}

// part is the keys' part together, at that instant.
func (s *twinState) part(now int64, keys ...uint32) int64 {
	end := s.reset
	if end == 0 {
		end = s.start + s.width
	}
	if !s.any || now >= end {
		return 0
	}
	unit := s.unit()
	mine, all := new(big.Int), new(big.Int)
	for _, op := range s.local {
		v := big.NewInt(int64(op.cost[unit]))
		all.Add(all, v)
		for _, key := range keys {
			if op.key == key {
				mine.Add(mine, v)
			}
		}
	}
	if all.Sign() == 0 {
		return 0
	}
	return mine.Mul(mine, big.NewInt(s.pot)).Quo(mine, all).Int64()
}

// unit is the one that the pot is split by.
func (s *twinState) unit() quota.Unit {
	priced, usd, tokens := true, quota.Amount(0), quota.Amount(0)
	for _, op := range s.local {
		priced = priced && op.priced
		usd += op.cost[quota.USD]
		tokens += op.cost[quota.Tokens]
	}
	switch {
	case priced && usd > 0:
		return quota.USD
	case tokens > 0:
		return quota.Tokens
	}
	return quota.Requests
}

// latest is the newest time in a list of consumptions, 0 when it is empty.
func latest(list []twinOp) (at int64) {
	for _, op := range list {
		at = max(at, op.at)
	}
	return at
}
