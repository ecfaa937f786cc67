package guarantee

import (
	"cmp"
	"slices"
	"sort"

	"github.com/quotashare/quotashare/quota"
)

// Groups are the keys of a dimension in the order of what they used, by what else they
// have in common: who judges many questions at one instant, as a view of all keys does,
// looks at each group instead of at each key. They are made once and never change.
type Groups struct{ list []group }

// group is some keys that differ only in what they used. Suspended ones are in none.
type group struct {
	like Key            // without Used
	used []quota.Amount // the least first
	// sums has at i the sum of the first i of used. Beyond the share, which is all that is
	// ever looked up, it may overflow.
	sums []quota.Amount
}

// few is how many keys to a group there must be for groups to be worth it: to look one up
// takes about as long as to look at so many keys.
const few = 16

// Group returns the keys in groups; nil where there are too many of them.
func Group(keys []Key) *Groups {
	sorted := slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return k.Suspended })
	slices.SortFunc(sorted, func(a, b Key) int { return cmp.Or(compareKinds(a, b), cmp.Compare(a.Used, b.Used)) })
	g := new(Groups)
	for len(sorted) > 0 {
		n := sort.Search(len(sorted), func(i int) bool { return compareKinds(sorted[i], sorted[0]) > 0 })
		g.list = append(g.list, newGroup(sorted[:n]))
		if sorted = sorted[n:]; len(g.list)*few > len(keys) {
			return nil
		}
	}
	return g
}

func compareKinds(a, b Key) int {
	begun := func(k Key) int {
		if k.Begun {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Share, b.Share), cmp.Compare(begun(a), begun(b)))
}

func newGroup(keys []Key) group {
	g := group{like: keys[0], used: make([]quota.Amount, len(keys)), sums: make([]quota.Amount, len(keys)+1)}
	g.like.Used = 0
	for i := range keys {
		g.used[i] = keys[i].Used
		g.sums[i+1] = g.sums[i] + keys[i].Used
	}
	return g
}

// at is how many keys used less than that.
func (g *group) at(level quota.Amount) int {
	return sort.Search(len(g.used), func(i int) bool { return g.used[i] >= level })
}

// below is Σ max(0, level − c_j).
func (g *group) below(level quota.Amount) quota.Amount {
	n := g.at(level)
	return quota.Amount(n)*level - g.sums[n]
}

// scan takes in every key but the asker, as sums.scan does one by one.
func (g *Groups) scan(s *sums) {
	own := s.own
	own.Used = 0
	for i := range g.list {
		s.group(&g.list[i], s.a.Key != NoKey && g.list[i].like == own)
	}
}

// group takes in the keys of a group, of which the asker may be one. What is needed for
// each is what is missing to a level m, and no more than most, which is
//
//	Σ min(max(0, m − c_j), most) = Σ max(0, m − c_j) − Σ max(0, m − most − c_j)
func (s *sums) group(g *group, mine bool) {
	m, most := s.level(&g.like)
	s.need += g.below(m) - g.below(m-most)
	if mine {
		s.need -= min(max(0, m-s.own.Used), most)
	}
	if s.leavesHeadroom() {
		s.ahead(g, m, most)
	}
}

// ahead takes in the headroom of the keys of a group that can make a difference. The less
// a key used the larger is h_j, so H is that of the first. E is the largest of
// min(h_j, ℓ_j) − need_j. While need_j is ℓ_j it is nothing; then need_j falls by all that
// c_j grows, and h_j by a sixteenth; and from m on need_j is 0. So it is that of the last
// key below m, or of the first that is not.
//
// The asker may be one of them, for it has no gap to itself. Nobody is hidden by it: those
// of its group that used more have none either; and if it is the last below m, which is
// c_i + x or the share, any before it needs more than its gap to the asker.
func (s *sums) ahead(g *group, m, most quota.Amount) {
	at := g.at(m)
	for _, j := range [...]int{0, at - 1, at} {
		if j >= 0 && j < len(g.used) {
			k := g.like
			k.Used = g.used[j]
			s.leave(&k, min(max(0, m-k.Used), most))
		}
	}
}

// level is up to where a key like this one is brought, and by how much at most: where
// scan, needWithin and needBeyond tell cases apart, it is one for all that differ in
// nothing but what they used.
func (s *sums) level(k *Key) (m, most quota.Amount) {
	l := s.promise.of(k.Share)
	switch {
	case s.a.Key == NoKey, s.a.Gives && !s.within:
		return l, l
	case s.within:
		return s.upTo(k, l), l
	}
	return max(s.upTo(k, k.Share), l), l
}

// upTo is up_j, and an amount where it is not below that.
func (s *sums) upTo(k *Key, most quota.Amount) quota.Amount {
	if s.levelReaches(k, most) {
		return most
	}
	return s.up(k)
}
