package guarantee

import (
	"math/bits"

	"github.com/quotashare/quotashare/quota"
)

// sums is what one question finds as it goes over the keys: the terms of the rule, each
// derived where it is worked out. Comparisons come before divisions: of a key it is mostly
// enough to know on which side of the asker's level it is, or that it leaves no more than
// another one. What is compared is multiplied out, so nothing is rounded.
type sums struct {
	d   *Dimension
	a   Asker
	own Key // the asker
	// x is what is asked for. Nothing at all would be let pass for ever, so it is 1 at
	// least; and a request above the whole limit runs when all of it is free.
	x      quota.Amount
	after  quota.Amount // c_i + x
	ends   quota.Amount // ℓ_i
	within bool         // c_i + x ≤ ℓ_i: it takes what it is promised, and no more
	weight uint64       // w_i

	// promise is ρ·left / (100·W): of a share, what it would use in the time that is left
	// if it did so evenly, and ρ percent of that. left is 0 in the last millisecond, or one
	// unit of each share could never be used by others. pace is the same with ρ = 100.
	promise, pace part

	need     quota.Amount    // Σ need_j
	extra    quota.Amount    // E
	headroom [2]quota.Amount // the largest h_j of those that have not begun, and of those that have
}

func (d *Dimension) begin(a Asker) sums {
	if a.Key == NoKey {
		return d.start(a, Key{})
	}
	return d.start(a, d.Keys[a.Key])
}

func (d *Dimension) start(a Asker, own Key) sums {
	s := sums{d: d, a: a, own: own, x: min(max(a.Estimate, 1), d.Limit)}
	s.pace = newPart(d.Left, d.Window)
	if s.promise = s.pace; d.Reserve != 100 {
		s.promise = newPart(d.Reserve*d.Left, 100*d.Window)
	}
	if a.Key == NoKey {
		return s
	}
	s.after = quota.AddSat(own.Used, s.x)
	s.weight = uint64(own.Weight)
	if !own.Suspended {
		s.ends = s.promise.of(own.Share)
	}
	s.within = s.after <= s.ends
	return s
}

// outsider keeps the whole promise of every key: who has no allocation has no level that
// theirs could be compared with.
func (s *sums) outsider() {
	for j := range s.d.Keys {
		s.need += s.owed(&s.d.Keys[j])
	}
}

// owed is max(0, ℓ_j − c_j): what is missing to the promise. ℓ_j is not above share_j,
// so whatever the reserve no more than a share is kept.
func (s *sums) owed(k *Key) quota.Amount {
	if k.Suspended || k.Used >= k.Share {
		return 0
	}
	return max(0, s.promise.of(k.Share)-k.Used)
}

// scan takes in every other key. A suspended one may use nothing, so nothing is kept for
// it. Nobody has a claim against who may go over its share and leaves the whole promise.
func (s *sums) scan() {
	for j := range s.d.Keys {
		k := &s.d.Keys[j]
		switch {
		case j == s.a.Key || k.Suspended:
		case s.a.Gives && !s.within:
			s.need += s.owed(k)
		case s.passes(k):
			s.behind(k)
		case !s.within:
			// It is not behind, so all it can want is its promise: max(up_j, ℓ_j) − c_j is at
			// most ℓ_j − c_j, as up_j ≤ c_j. Inside its own promise the asker owes it nothing,
			// min(up_j, ℓ_j) ≤ c_j: nobody waits there for a key that is ahead of it.
			s.need += s.owed(k)
		}
	}
}

// passes reports whether the asker passes key j with what it asks for, up_j > c_j, where
// up_j = ⌊(c_i + x)·w_j / w_i⌋ is what j had used if it had come as far for its weight as
// the asker then. To use as much for one's weight is what is fair, so it is the line up to
// which j goes first, and no further.
func (s *sums) passes(k *Key) bool { return s.levelReaches(k, k.Used+1) }

// levelReaches reports whether up_j ≥ least, without a division; always when w_i = 0: who
// weighs nothing is ahead of everybody.
func (s *sums) levelReaches(k *Key, least quota.Amount) bool {
	return !less(product(uint64(s.after), uint64(k.Weight)), product(uint64(least), s.weight))
}

// up is up_j where it is known to be below an amount.
func (s *sums) up(k *Key) quota.Amount {
	p := product(uint64(s.after), uint64(k.Weight))
	q, _ := bits.Div64(p.hi, p.lo, s.weight)
	return quota.Amount(q)
}

// behind takes in a key that the asker passes.
func (s *sums) behind(k *Key) {
	var need quota.Amount
	switch {
	case k.Used >= k.Share: // keep_j = 0, and ℓ_j ≤ c_j
	case s.within:
		need = s.needWithin(k)
	default:
		need = s.needBeyond(k)
	}
	s.need += need
	if !s.a.Gives {
		s.leave(k, need)
	}
}

// needWithin is max(0, min(up_j, ℓ_j) − c_j), of a key with up_j > c_j. Both the asker and
// j are promised what they want, so who has used less for its weight goes first: up to the
// asker's level, and at most to its own promise.
func (s *sums) needWithin(k *Key) quota.Amount {
	l := s.promise.of(k.Share)
	switch {
	case l <= k.Used:
		return 0
	case s.levelReaches(k, l):
		return l - k.Used
	}
	return s.up(k) - k.Used
}

// needBeyond is max(0, min(max(up_j, ℓ_j), c_j + keep_j) − c_j), of a key with up_j > c_j.
// Beyond its own promise the asker leaves j all of its promise, ℓ_j, and what brings it up
// to the asker's level; but not more than keep_j = max(0, min(share_j − c_j, ℓ_j)), which j
// can still use at its pace and inside its share.
func (s *sums) needBeyond(k *Key) quota.Amount {
	l := s.promise.of(k.Share)
	keep := min(k.Share-k.Used, l)
	if l-k.Used >= keep || s.levelReaches(k, k.Used+keep) {
		return keep
	}
	return min(keep, max(s.up(k), l)-k.Used)
}

// leave takes in the headroom of a key that used less for its weight than the asker so far,
//
//	h_j = max(0, min(⌊(pre_j − c_j) / 16⌋, ⌊share_j·left / W⌋))    pre_j = ⌊c_i·w_j / w_i⌋
//
// When the pool is full, room comes in small pieces, and who asks for the least takes
// each. So of the gap to j a sixteenth stays free, in which requests of up to that size
// come in before the asker's; but not more than j could use at its pace. It is of pre_j and
// not of up_j, so that a request is never blocked for its own size.
//
// Beyond its promise the asker leaves as much of it as is promised even where need_j is
// less, which it is of a key that has used its promise up: E = max(min(h_j, ℓ_j) − need_j).
//
// H is the largest of each group and no sum: one key at a time has to come in. So the least
// that can change something is known, and most keys need no division.
func (s *sums) leave(k *Key, need quota.Amount) {
	level, used := product(uint64(s.own.Used), uint64(k.Weight)), product(uint64(k.Used), s.weight)
	if s.weight > 0 && !less(used, level) {
		return
	}
	gap := minus(level, used)
	group := &s.headroom[0]
	if k.Begun {
		group = &s.headroom[1]
	}
	least := s.extra + need + 1
	extra := !s.within && s.leaves(k, gap, least) && s.promise.reaches(k.Share, least)
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
// ⌊(pre_j − c_j) / 16⌋ because c_j is whole, is least or more; always when w_i = 0.
func (s *sums) gapReaches(gap wide, least quota.Amount) bool {
	return s.weight == 0 || !less(gap, product(uint64(least), Gap*s.weight))
}
