package routing

// Places returns how many places for keys and for waiters there ever were.
func (b *Backlog) Places() (keys, waiters int) { return len(b.queues) - 1, len(b.waiters) - 1 }
