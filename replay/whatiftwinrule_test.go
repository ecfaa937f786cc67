package replay

import "github.com/quotashare/quotashare/whatif"

// promised applies the rule guarantee as it is written, term by term, to the one sliding
// dimension that there is.
func (s *twinSide) promised(i int, tokens, now int64, without string) (d whatif.Decision) {
	limit, left := s.rules.limit*1000, hourMs-1-now%hourMs
	x := min(max(tokens, 1), limit)
	var c, l, w [3]int64
	var spent int64
	for j := range c {
		c[j] = s.inBucket(j, now) + s.held(j, without, now)
		l[j] = min(s.rules.share(j), s.rules.share(j)*s.rules.reserve*left/(100*hourMs))
		w[j] = s.rules.weights[j]
		spent += c[j]
	}
	if w == [3]int64{} {
		w = [3]int64{1, 1, 1}
	}
	within := c[i]+x <= l[i]
	var need, extra int64
	var room [2]int64
	for j := range c {
		if j == i {
			continue
		}
		needed, headroom := s.keeps(j, c[j], l[j], level(c[i]+x, w[j], w[i]), level(c[i], w[j], w[i]), left, within, s.rules.soft[i])
		need += needed
		if !within && !s.rules.soft[i] {
			extra = max(extra, min(headroom, l[j])-needed)
		}
		if s.rules.soft[i] {
			continue
		}
		if s.inBucket(j, now) > 0 {
			room[0] = max(room[0], headroom)
		} else {
			room[1] = max(room[1], headroom)
		}
	}
	total := s.used(-1, now) + s.held(-1, without, now) + x
	switch {
	case total > limit:
		d.Block, d.Reason = true, "global-saturated"
	case spent+x+need+extra > limit, total+room[0]+room[1] > limit:
		d.Block, d.Reason = true, "fair-share"
	case s.rules.soft[i] && c[i] > s.rules.share(i) && !s.rules.observe:
		d.Deprioritize = true
	}
	d.Passes = !d.Block || s.rules.observe
	return d
}

// endless is more than any amount here.
const endless = int64(1) << 60

// level is what a key of weight w has at the level of one of weight of that used so much.
func level(used, w, of int64) int64 {
	if of == 0 {
		return endless
	}
	return used * w / of
}

// keeps is what is kept for key j, and the headroom left for it.
func (s *twinSide) keeps(j int, c, l, up, pre, left int64, within, gives bool) (need, headroom int64) {
	share := s.rules.share(j)
	keep := max(0, min(share-c, l))
	switch {
	case within:
		need = min(up, l) - c
	case gives:
		need = l - c
	default:
		need = min(max(up, l), c+keep) - c
	}
	return max(0, need), max(0, min((pre-c)/16, share*left/hourMs))
}

// inBucket is what a key consumed in the bucket of now.
func (s *twinSide) inBucket(key int, now int64) (sum int64) {
	for _, u := range s.uses {
		if u.key == key && u.at/hourMs == now/hourMs {
			sum += u.tokens
		}
	}
	return sum
}
