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
	lane    *lane // nil = not looked at
	at      int64 // when it was
	waiting int64
	oldest  int64 // when that came
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
	t.backlog = questions.Traffic{}
	if l.backlog.Len() == 0 {
		return
	}
	if first.queue.lane != l || first.queue.at != a.Now {
		first.queue = queue{lane: l, at: a.Now}
		first.queue.waiting, first.queue.oldest = l.waits(a.Now)
	}
	if t.backlog.Waiting = first.queue.waiting; t.backlog.Waiting == 0 {
		return
	}
	t.backlog.OldestMs = max(0, a.Now-first.queue.oldest)
	n, since := l.waitsOf(routing.Key(r.key), a.Now)
	if t.backlog.KeyWaiting = n; n > 0 {
		t.backlog.KeyOldestMs = max(0, a.Now-since)
	}
}

// Traffic returns what goes on at one of the pool's connections, that of the answer,
// when the question wants it explained.
func (a *Asked) Traffic(conn int) questions.Traffic {
	t := a.traffic.backlog
	t.InFlight, t.MaxConcurrent = a.traffic.flights[conn-a.traffic.from], a.Pool.Connections[conn].MaxConcurrent
	return t
}

// waitsOf is how many requests of a key wait at an instant, and when the first of them
// came. A wait that is over by then is none, though the log has not come to its end.
func (l *lane) waitsOf(k routing.Key, now int64) (n, since int64) {
	since = math.MaxInt64
	all := l.backlog.Deadline() > now
	for w := range l.backlog.Waiting(k) {
		if !all && w.Deadline <= now {
			continue
		}
		n++
		since = min(since, w.Arrived)
		if all { // the first is enough
			return int64(l.backlog.LenOf(k)), since
		}
	}
	return n, since
}

// waits is the same of all keys.
func (l *lane) waits(now int64) (n, since int64) {
	since = math.MaxInt64
	for t := range l.backlog.Turns() {
		of, first := l.waitsOf(t.Key, now)
		n, since = n+of, min(since, first)
	}
	return n, since
}
