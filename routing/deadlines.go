package routing

// before is the order of deadlines: the earliest first, and of one key's the one that
// came first.
func (x *waiter) before(o *waiter) bool {
	return x.Deadline < o.Deadline || x.Deadline == o.Deadline && x.number < o.number
}

// await puts a waiter among the deadlines.
func (b *Backlog) await(at uint32) {
	b.deadlines = append(b.deadlines, at)
	b.up(len(b.deadlines) - 1)
}

// forget takes the i-th out of the deadlines: the last takes its place, from where it
// belongs further up or further down. When it goes up, its parent comes down to where
// it was, which belongs before all that is below.
func (b *Backlog) forget(i int) {
	last := len(b.deadlines) - 1
	moved := b.deadlines[last]
	b.deadlines = b.deadlines[:last]
	if i == last {
		return
	}
	b.put(i, moved)
	b.up(i)
	b.down(i)
}

func (b *Backlog) up(i int) {
	at := b.deadlines[i]
	for i > 0 {
		parent := b.deadlines[(i-1)/2]
		if !b.waiters[at].before(&b.waiters[parent]) {
			break
		}
		b.put(i, parent)
		i = (i - 1) / 2
	}
	b.put(i, at)
}

func (b *Backlog) down(i int) {
	at := b.deadlines[i]
	for n := len(b.deadlines); ; {
		child := 2*i + 1
		if child+1 < n && b.waiters[b.deadlines[child+1]].before(&b.waiters[b.deadlines[child]]) {
			child++
		}
		if child >= n || !b.waiters[b.deadlines[child]].before(&b.waiters[at]) {
			break
		}
		b.put(i, b.deadlines[child])
		i = child
	}
	b.put(i, at)
}

func (b *Backlog) put(i int, at uint32) {
	b.deadlines[i] = at
	b.waiters[at].at = i
}
