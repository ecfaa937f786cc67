package projector

import (
	"math"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/routing"
)

// traffic is what an explained question is shown beside the verdict.
type traffic struct {
	from    int     // the connection that flights begin with
	flights []int64 // in flight on the one that is asked for, else on each of the pool's
	backlog questions.Traffic
}

// queue is the backlog of a pool, for all questions of one Gather. To find who waits
// longest all keys are looked at, which a thousand questions need not do again.
type queue struct {
	lane   *lane // nil = not looked at
	oldest int64 // when that came
}

// gatherTraffic takes in what goes on at the connection that is asked for, or at all
// that may answer, and who waits in the pool's backlog.
func (a *Asked) gatherTraffic(first *Asked, conn int) {
	r, t := &a.reader, &a.traffic
	t.from = max(conn, 0)
	to := conn + 1
	if conn == fairshare.AnyConnection {
		to = len(r.p.conns)
	}
	t.flights = t.flights[:0]
	for i := t.from; i < to; i++ {
		t.flights = append(t.flights, r.inFlight(r.p.conns[i], r.p.doc.Connections[i].ConnectionID, a.Now))
	}
	l := r.p.lane
	t.backlog = questions.Traffic{Waiting: int64(l.backlog.Len())}
	if t.backlog.Waiting == 0 {
		return
	}
	if first.queue.lane != l {
		first.queue = queue{lane: l, oldest: l.oldest()}
	}
	t.backlog.OldestMs = max(0, a.Now-first.queue.oldest)
	key := routing.Key(r.key)
	if t.backlog.KeyWaiting = int64(l.backlog.LenOf(key)); t.backlog.KeyWaiting > 0 {
		t.backlog.KeyOldestMs = max(0, a.Now-l.since(key))
	}
}

// Traffic returns what goes on at one of the pool's connections, that of the answer,
// when the question wants it explained.
func (a *Asked) Traffic(conn int) questions.Traffic {
	t := a.traffic.backlog
	t.InFlight, t.MaxConcurrent = a.traffic.flights[conn-a.traffic.from], a.Pool.Connections[conn].MaxConcurrent
	return t
}

// since is when the first request of a key came of those that wait, Never when none
// does.
func (l *lane) since(k routing.Key) int64 {
	for w := range l.backlog.Waiting(k) {
		return w.Arrived
	}
	return math.MaxInt64
}

// oldest is when the first request came of those that wait.
func (l *lane) oldest() int64 {
	at := int64(math.MaxInt64)
	for t := range l.backlog.Turns() {
		at = min(at, l.since(t.Key))
	}
	return at
}
