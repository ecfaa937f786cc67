package routing

// queueOf returns the place of the key's queue. A new one is put in front of the
// front, which in a ring is last.
func (b *Backlog) queueOf(k Key) uint32 {
	if at := b.byKey[k]; at != 0 {
		return at
	}
	at := b.newQueue()
	q := &b.queues[at]
	*q = queue{key: k, prev: at, next: at}
	if b.front == 0 {
		b.front, b.given = at, false
	} else {
		front := &b.queues[b.front]
		q.prev, q.next = front.prev, b.front
		b.queues[front.prev].next = at
		front.prev = at
	}
	b.byKey[k] = at
	b.keys++
	return at
}

// dropQueue takes an empty queue out of the ring, with what it saved. When it was
// its visit, the visit is over.
func (b *Backlog) dropQueue(at uint32) {
	q := &b.queues[at]
	delete(b.byKey, q.key)
	b.keys--
	if at == b.front {
		b.front, b.given = q.next, false
	}
	if q.next == at {
		b.front = 0
	}
	b.queues[q.prev].next = q.next
	b.queues[q.next].prev = q.prev
	*q = queue{next: b.noQueue}
	b.noQueue = at
}

func (b *Backlog) newQueue() uint32 {
	if at := b.noQueue; at != 0 {
		b.noQueue = b.queues[at].next
		return at
	}
	b.queues = append(b.queues, queue{})
	return uint32(len(b.queues) - 1)
}

func (b *Backlog) newWaiter() uint32 {
	if at := b.noWaiter; at != 0 {
		b.noWaiter = b.waiters[at].next
		return at
	}
	b.waiters = append(b.waiters, waiter{})
	return uint32(len(b.waiters) - 1)
}
