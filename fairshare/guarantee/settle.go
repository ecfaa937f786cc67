package guarantee

// Settle judges a question by what all used together, without a look at each of them; own
// is the asker, and Keys are not read. ok is false where the outcome depends on the keys:
// then the verdict is the most careful one. Kept and Headroom are not known in either.
//
// It is the sums with bounds in the place of what the keys add to them. From below that is
// nothing: who is blocked by what is used is blocked. From above, as need_j ≤ ℓ_j, and
// need_j + E ≤ ℓ_j of the key that E comes from, and the shares are not more than L
// together:
//
//	Σ need_j + E ≤ Σ ℓ_j over j ≠ i ≤ ⌊(L − share_i)·ρ·left / (100·W)⌋
//	H ≤ h_j + h_k of two others     ≤ ⌊(L − share_i)·left / W⌋
//
// So most questions are let pass of a pool that has room at the pace of its window, and
// cost the same with any number of keys.
func (d *Dimension) Settle(a Asker, own Key) (v Verdict, ok bool) {
	s := d.start(a, own)
	v = s.verdict()
	if ok = v.Outcome.Blocks(); !ok {
		others := d.Limit - own.Share
		s.need = s.promise.of(others)
		if s.leavesHeadroom() {
			s.headroom[0] = s.pace.of(others)
		}
		v = s.verdict()
		ok = !v.Outcome.Blocks()
	}
	v.Kept, v.Headroom = 0, 0
	return v, ok
}

// leavesHeadroom reports whether the asker leaves some for others at all.
func (s *sums) leavesHeadroom() bool { return s.a.Key != NoKey && !s.a.Gives }
