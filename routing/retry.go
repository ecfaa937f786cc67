package routing

import "slices"

// Rooms returns the instants at which places of a connection become free when
// nothing happens but that leases end: ends are those of its holds, in order, and
// more of them than maxConcurrent may be open after a change of the pool.
func Rooms(ends []int64, maxConcurrent int64) []int64 {
	return ends[max(0, len(ends)-int(maxConcurrent)):]
}

// FreeAt returns the first instant at which a request that does not wait finds room,
// when nothing happens but that time goes by: the one at which a place becomes free
// and nobody waits for it. Each that waits until then takes a place for its lease, if
// its deadline has not come. It is Never when no place becomes free. This is what is
// said to a request that is refused now, at once or after it has waited; rooms are
// the Rooms of all connections that it might use, in any order, and are used up. Ask
// when Next has found nobody, so that no place is free that somebody waits for.
//
// It is played through on a copy, as Next would do it, for whose lease it is that
// ends depends on whose turn it was. It takes for granted that whoever waits goes when
// there is room: the answer is later than need be while a rule holds one back.
func (b *Backlog) FreeAt(now int64, rooms []int64, r Rules) int64 {
	slices.Sort(rooms)
	if len(rooms) == 0 {
		return Never
	}
	if b.goneBy(max(now, rooms[0])) {
		return max(now, rooms[0])
	}
	c := b.lookAhead()
	var all Rules = anybody{r}
	for {
		now = max(now, rooms[0])
		c.expireAll(now)
		w, ok := c.Next(all)
		if !ok {
			return now
		}
		at, _ := slices.BinarySearch(rooms[1:], now+w.Lease)
		copy(rooms, rooms[1:1+at])
		rooms[at] = now + w.Lease
	}
}

func (b *Backlog) expireAll(now int64) {
	for ok := true; ok; {
		_, ok = b.Expire(now)
	}
}

// goneBy reports whether nobody waits until that instant. Leases are long and waits
// are short, so mostly there is nothing to play through.
func (b *Backlog) goneBy(at int64) bool {
	for _, i := range b.deadlines {
		if b.waiters[i].Deadline > at {
			return false
		}
	}
	return true
}

// lookAhead returns a copy that can be asked for Next and Expire alone: it knows
// nobody by name, for maps are slow to copy.
func (b *Backlog) lookAhead() *Backlog {
	c := *b
	c.queues, c.waiters, c.deadlines = slices.Clone(b.queues), slices.Clone(b.waiters), slices.Clone(b.deadlines)
	c.byKey, c.byTicket = nil, nil
	return &c
}

// anybody are the rules when there is room.
type anybody struct{ Rules }

// Passes says that whoever asks may go.
func (anybody) Passes(*Waiter) (bool, int64) { return true, Never }
