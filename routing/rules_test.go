package routing_test

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// rules are small rules: a quantum for each key, and who may not pass until when.
type rules struct {
	quanta map[routing.Key]quota.Amount // 10 for those that are not in it
	until  map[routing.Ticket]int64     // those that are not in it may pass
	asked  int
}

func (r *rules) Quantum(k routing.Key) quota.Amount {
	if q, ok := r.quanta[k]; ok {
		return q
	}
	return 10
}

func (r *rules) Passes(w *routing.Waiter) (bool, int64) {
	r.asked++
	if at, held := r.until[w.Ticket]; held {
		return false, at
	}
	return true, routing.Never
}

var everybody = &rules{}
