package httpapi

import (
	"context"
	"sync"
)

// watchedDouble is what happens in an engine of a test.
type watchedDouble struct {
	mu     sync.Mutex
	log    []Change // all that was written to the log
	folded uint64   // how far the state is
	rows   []Block
	proc   string
}

func (d *watchedDouble) Changes(_ context.Context, after uint64, limit int) (list []Change, next uint64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.log {
		switch {
		case c.Seq <= after || c.Seq > d.folded:
		case len(list) == limit:
			return list, list[limit-1].Seq, nil
		default:
			list = append(list, c)
		}
	}
	return list, 0, nil
}

func (d *watchedDouble) Folded() (last, change uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.log {
		if c.Seq <= d.folded {
			change = c.Seq
		}
	}
	return d.folded, change
}

func (d *watchedDouble) Process() string { return d.proc }

func (d *watchedDouble) Blocks(after uint64) (list []Block) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range d.rows {
		if b.Seq > after {
			list = append(list, b)
		}
	}
	return list
}
