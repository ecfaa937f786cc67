package projector

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/usage"
)

// keysPerLock is how many pairs or keys the choice of the unlisted keys looks at
// before it lets the fold go on.
const keysPerLock = 4096

// unlistedKeys are the keys without an allocation of their own that were seen on
// a pool's connections.
type unlistedKeys struct {
	first []keyUse // usage.MaxUnlisted of them at most, the most used first, then by id
	total int      // how many there are
}

// isOthers reports whether the id is that of the pool's allocation for all others. A
// key that really has this id is one of them, and in the sum that this row shows:
// a row of its own would look the same and say something else.
func (p *pool) isOthers(id string) bool { return p.others >= 0 && id == quota.AllOthers }

// keyUse is what a key used of the pool's first dimension; without one, how many
// requests it made in an hour.
type keyUse struct {
	key  ref
	id   string // of those in unlistedKeys.first
	used quota.Amount
}

func compareUse(a, b keyUse) int {
	return cmp.Or(cmp.Compare(b.used, a.used), strings.Compare(a.id, b.id))
}

// keyChooser goes along the chains of a pool's connections, a part under each
// lock: a connection may have a million keys.
type keyChooser struct {
	s      *State
	p      *pool // what is read of it never changes
	unit   quota.Unit
	window quota.Window
	now    int64

	at   int    // the connection whose chain is begun next
	next uint32 // the next pair of the current chain + 1
	used []keyUse
	keys unlistedKeys
}

// unlistedKeysOf chooses the unlisted keys of the pool that are shown, as of some
// moment of the call; ok is false when there is no such pool. An error is that of
// the context.
func (s *State) unlistedKeysOf(ctx context.Context, poolID string, clock int64) (keys unlistedKeys, ok bool, err error) {
	c, ok := s.newKeyChooser(poolID, clock)
	if !ok {
		return keys, false, nil
	}
	defer s.counters.idle.letGo()
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return keys, false, err
		}
		more = c.look()
	}
	c.merge()
	for from := 0; from < len(c.used); from += keysPerLock {
		c.rank(c.used[from:min(from+keysPerLock, len(c.used))])
	}
	return c.keys, true, nil
}

func (s *State) newKeyChooser(poolID string, clock int64) (c *keyChooser, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p, ok := s.pools[poolID]
	if !ok {
		return nil, false
	}
	s.counters.idle.hold()
	c = &keyChooser{s: s, p: p, unit: quota.Requests, window: quota.Hourly, now: max(clock, s.logTime)}
	if d := p.resolved.Dimensions; len(d) > 0 {
		c.unit, c.window = d[0].Unit, d[0].Window
	}
	return c, true
}

// look collects what the next pairs used and reports whether there are more. A
// chain grows at its front alone, and loses nothing while somebody goes along, so
// going on in the middle of one is safe.
func (c *keyChooser) look() (more bool) {
	s := c.s
	s.mu.RLock()
	defer s.mu.RUnlock()
	for range keysPerLock {
		switch {
		case c.next != 0:
			p := s.counters.pairs.at(c.next - 1)
			c.next = p.ofConn.next
			if _, own := c.p.alloc[p.key]; !own {
				c.used = append(c.used, keyUse{key: p.key, used: s.consumed(p, c.unit, c.window, c.now)})
			}
		case c.at == len(c.p.conns):
			return false
		default:
			c.next = chainOf(&s.counters.byConn, c.p.conns[c.at]).first
			c.at++
		}
	}
	return true
}

// merge adds up each key over the connections. Sorting takes no lock, where a
// map would be filled under it.
func (c *keyChooser) merge() {
	slices.SortFunc(c.used, func(a, b keyUse) int { return cmp.Compare(a.key, b.key) })
	n := 0
	for _, x := range c.used {
		if n > 0 && c.used[n-1].key == x.key {
			c.used[n-1].used = quota.AddSat(c.used[n-1].used, x.used)
			continue
		}
		c.used[n] = x
		n++
	}
	c.used = c.used[:n]
	c.keys.total = n
}

// rank puts those of the keys that belong to the first ones in their places.
func (c *keyChooser) rank(keys []keyUse) {
	c.s.mu.RLock()
	defer c.s.mu.RUnlock()
	first := c.keys.first
	for _, x := range keys {
		full := len(first) == usage.MaxUnlisted
		if full && x.used < first[len(first)-1].used {
			continue // the usual case needs no id
		}
		if x.id = c.s.names.id(x.key); c.p.isOthers(x.id) {
			continue
		}
		at, _ := slices.BinarySearchFunc(first, x, compareUse)
		if full {
			if at == len(first) {
				continue
			}
			first = first[:len(first)-1]
		}
		first = slices.Insert(first, at, x)
	}
	c.keys.first = first
}
