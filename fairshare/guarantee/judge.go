package guarantee

import (
	"math/bits"

	"github.com/quotashare/quotashare/quota"
)

// Outcome is what the rule says of one dimension, in the order in which it is asked.
type Outcome uint8

// The outcomes that allow come first.
const (
	OK         Outcome = iota
	Guaranteed         // the asker stays inside its promise
	Borrowed           // it goes over its share, which nobody needs
	Outside            // it has no allocation, and nobody needs what it asks for
	Yield              // block: those who used less for their weight go first
	Reserved           // block: what is left is kept for keys that used less
	Full               // block: nothing is left
)

var outcomes = [...]string{
	OK: "ok", Guaranteed: "guaranteed", Borrowed: "borrowed", Outside: "", Yield: "yield", Reserved: "reserved", Full: "",
}

// String is the detail that an answer has of the outcome, "" for one that says it all.
func (o Outcome) String() string { return outcomes[o] }

// Blocks reports whether the outcome is to block.
func (o Outcome) Blocks() bool { return o >= Yield }

// Key is one allocation of the pool, as it stands in one dimension.
type Key struct {
	// Used is what it used in this period with what it holds, and Begun whether it used
	// some of that: holds do not count for it.
	Used  quota.Amount
	Begun bool
	Share quota.Amount
	// Weight is its weight, or 1 for all when all weights are 0.
	Weight int64
	// Suspended: nothing is kept for it, and what it used counts.
	Suspended bool
}

// Dimension is what one dimension is judged by at one instant.
type Dimension struct {
	Limit quota.Amount // known: above 0
	// Total is the pool's effective total with all holds, and Spent what was used in this
	// period, also by keys without an allocation, with all holds. Of a cycle they are equal.
	Total, Spent quota.Amount
	Window, Left int64 // ms
	Reserve      int64 // percent, 0..400
	Cycle        bool  // the period is the provider's cycle, else the bucket of a sliding window
	Keys         []Key
}

// Asker is who asks, and for what.
type Asker struct {
	Key      int // index in Keys, NoKey = without an allocation
	Estimate quota.Amount
	// Gives: it may go over its share (soft, burst), and leaves the whole promise of the
	// others alone for that.
	Gives bool
}

// Gap is how much of the gap to a key that used less for its weight is left for it when
// the pool is full, as a divisor: a sixteenth.
const Gap = 16

// NoKey is an asker without an allocation.
const NoKey = -1

// Verdict is the outcome and how it came about.
type Verdict struct {
	Outcome  Outcome
	Used     quota.Amount // by the asker in this period, with its holds
	Over     bool         // that is more than its share
	Promised quota.Amount // that the asker can still use at once, or by the end of the bucket
	Kept     quota.Amount // Σ need + E: for others, against this question
	Headroom quota.Amount // H: left for those who used less
}

// Judge judges a question by one dimension.
func (d *Dimension) Judge(a Asker) Verdict {
	s := d.begin(a)
	if a.Key == NoKey {
		s.outsider()
	} else {
		s.scan()
	}
	return s.verdict()
}

// sums is what one question finds as it goes over the keys.
type sums struct {
	d      *Dimension
	a      Asker
	x      quota.Amount // what is asked for
	own    Key          // the asker
	after  quota.Amount // c_i + x
	ends   quota.Amount // ℓ_i
	within bool
	weight uint64 // w_i

	promise, pace part
	need          quota.Amount    // Σ need_j
	extra         quota.Amount    // E
	headroom      [2]quota.Amount // of those that have not begun, and of those that have
}

func (d *Dimension) begin(a Asker) sums {
	if a.Key == NoKey {
		return d.start(a, Key{})
	}
	return d.start(a, d.Keys[a.Key])
}

func (d *Dimension) start(a Asker, own Key) sums {
	s := sums{d: d, a: a, own: own, x: min(max(a.Estimate, 1), d.Limit)}
	s.promise = newPart(d.Reserve*d.Left, 100*d.Window)
	s.pace = newPart(d.Left, d.Window)
	if a.Key == NoKey {
		return s
	}
	s.after = quota.AddSat(s.own.Used, s.x)
	s.weight = uint64(s.own.Weight)
	if !s.own.Suspended {
		s.ends = s.promise.of(s.own.Share)
	}
	s.within = s.after <= s.ends
	return s
}

// outsider keeps the whole promise of every key.
func (s *sums) outsider() {
	for j := range s.d.Keys {
		s.need += s.owed(&s.d.Keys[j])
	}
}

// owed is max(0, ℓ_j − c_j): what is missing to the promise.
func (s *sums) owed(k *Key) quota.Amount {
	if k.Suspended || k.Used >= k.Share { // ℓ_j ≤ share_j
		return 0
	}
	return max(0, s.promise.of(k.Share)-k.Used)
}

func (s *sums) scan() {
	for j := range s.d.Keys {
		k := &s.d.Keys[j]
		switch {
		case j == s.a.Key || k.Suspended:
		case s.a.Gives && !s.within:
			s.need += s.owed(k)
		case !s.reaches(s.after, k, k.Used+1):
			s.ahead(k)
		default:
			s.behind(k)
		}
	}
}

// ahead takes in a key that the asker does not pass: up_j ≤ c_j.
func (s *sums) ahead(k *Key) {
	if !s.within {
		s.need += s.owed(k)
	}
}

// behind takes in a key that the asker passes with what it asks for: up_j > c_j.
func (s *sums) behind(k *Key) {
	var need quota.Amount
	if k.Used < k.Share { // else keep_j = 0 and ℓ_j ≤ c_j
		l := s.promise.of(k.Share)
		most := l - k.Used
		if !s.within {
			most = min(k.Share-k.Used, l)
		}
		switch {
		case most <= 0:
			most = 0
		case s.reaches(s.after, k, k.Used+most):
			need = most
		case s.within:
			need = s.up(k) - k.Used
		default:
			need = min(most, max(s.up(k), l)-k.Used)
		}
		s.need += need
	}
	if !s.a.Gives {
		s.leave(k, need)
	}
}

// reaches reports whether ⌊v·w_j / w_i⌋ ≥ least, without a division; always when
// w_i = 0.
func (s *sums) reaches(v quota.Amount, k *Key, least quota.Amount) bool {
	return !less(product(uint64(v), uint64(k.Weight)), product(uint64(least), s.weight))
}

// up is ⌊(c_i + x)·w_j / w_i⌋ that is known to be below an amount.
func (s *sums) up(k *Key) quota.Amount {
	p := product(uint64(s.after), uint64(k.Weight))
	q, _ := bits.Div64(p.hi, p.lo, s.weight)
	return quota.Amount(q)
}

// leave takes in the headroom of a key, and when beyond what of it the key's need does
// not cover yet. What is not more than what another key leaves already needs no division.
func (s *sums) leave(k *Key, need quota.Amount) {
	level, used := product(uint64(s.own.Used), uint64(k.Weight)), product(uint64(k.Used), s.weight)
	if !less(used, level) && s.weight > 0 {
		return
	}
	gap := minus(level, used)
	group := &s.headroom[0]
	if k.Begun {
		group = &s.headroom[1]
	}
	extra := !s.within && s.leaves(k, gap, s.extra+need+1) && s.promise.reaches(k.Share, s.extra+need+1)
	if !extra && !s.leaves(k, gap, *group+1) {
		return
	}
	h := s.pace.of(k.Share)
	if !s.gapReaches(gap, h) {
		q, _ := bits.Div64(gap.hi, gap.lo, Gap*s.weight)
		h = quota.Amount(q)
	}
	*group = max(*group, h)
	if extra {
		s.extra = min(h, s.promise.of(k.Share)) - need
	}
}

// leaves reports whether h_j ≥ least.
func (s *sums) leaves(k *Key, gap wide, least quota.Amount) bool {
	return s.gapReaches(gap, least) && s.pace.reaches(k.Share, least)
}

// gapReaches reports whether ⌊(c_i·w_j − c_j·w_i) / (16·w_i)⌋, which is
// ⌊(pre_j − c_j) / 16⌋, is least or more; always when w_i = 0.
func (s *sums) gapReaches(gap wide, least quota.Amount) bool {
	return s.weight == 0 || !less(gap, product(uint64(least), Gap*s.weight))
}

func (s *sums) verdict() Verdict {
	v := Verdict{Promised: max(0, s.ends-s.own.Used), Kept: quota.AddSat(s.need, s.extra), Headroom: quota.AddSat(s.headroom[0], s.headroom[1])}
	v.Used, v.Over = s.own.Used, s.a.Key != NoKey && s.own.Used > s.own.Share
	d := s.d
	total := quota.AddSat(d.Total, s.x)
	switch {
	case total > d.Limit:
		v.Outcome = Full
	case quota.AddSat(quota.AddSat(d.Spent, s.x), v.Kept) > d.Limit:
		v.Outcome = Reserved
	case !d.Cycle && quota.AddSat(total, v.Headroom) > d.Limit:
		v.Outcome = Yield
	case s.a.Key == NoKey:
		v.Outcome = Outside
	case s.within:
		v.Outcome = Guaranteed
	case s.after > s.own.Share:
		v.Outcome = Borrowed
	}
	return v
}
