package projector_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
)

// routesTwin is routing in a world whose only limit is what alice may hold in pool q, as
// one would write it who keeps lists and goes along them.
type routesTwin struct {
	*rapid.T
	s       *projector.State
	seq     uint64
	now     int64
	conns   []*twinConn // in the order of pools, then in theirs
	queues  map[string]*twinQueue
	holds   map[requestName]twinHold
	tokens  map[requestName]int64 // of the newest hold
	settled map[requestName]int64
	came    int // waiters
	seen    map[string]int
}

type twinConn struct {
	id, pool             string
	weight, most, credit int64
}

type twinHold struct {
	conn string
	end  int64
}

// twinQueue is a backlog: the keys in the order in which they are visited, that whose
// visit it is first.
type twinQueue struct {
	keys  []*twinKey
	given bool
}

type twinKey struct {
	key            string
	saved, quantum int64
	waiting        []twinWaiter
}

type twinWaiter struct {
	requestName
	of                    []string
	want                  string // the same for those that want the same
	came                  int
	cost, deadline, lease int64
	tokens                int64
	model                 string
}

// firsts returns the first of each want, and where it is.
func (k *twinKey) firsts() (at []int) {
	for i, x := range k.waiting {
		if !slices.ContainsFunc(k.waiting[:i], func(o twinWaiter) bool { return o.want == x.want }) {
			at = append(at, i)
		}
	}
	return at
}

func (w *routesTwin) conn(id string) *twinConn {
	for _, c := range w.conns {
		if c.id == id {
			return c
		}
	}
	return &twinConn{id: id}
}

func (w *routesTwin) inFlight(id string) (n int64) {
	for _, h := range w.holds {
		if h.conn == id {
			n++
		}
	}
	return n
}

func (w *routesTwin) free(c *twinConn) bool { return c.most == 0 || w.inFlight(c.id) < c.most }

// twinCap is what alice may hold in pool q.
const twinCap = 5_000_000

// capped reports whether the cap keeps a request from the connection.
func (w *routesTwin) capped(x *twinWaiter, c *twinConn) bool {
	if x.key != "alice" || c.pool != "q" {
		return false
	}
	held := min(x.tokens, twinCap)
	for name, h := range w.holds {
		if name.key == x.key && w.conn(h.conn).pool == c.pool {
			held += min(w.tokens[name], twinCap)
		}
	}
	return held > twinCap || held == twinCap && x.tokens == 0
}

func (w *routesTwin) open(x *twinWaiter, c *twinConn) bool { return w.free(c) && !w.capped(x, c) }

// choose returns the connection of these that is next, nil when none is open.
func (w *routesTwin) choose(x *twinWaiter, of []string) *twinConn {
	var first *twinConn
	var turn []*twinConn
	for _, id := range of {
		c := w.conn(id)
		switch {
		case !w.open(x, c):
		case first == nil:
			first, turn = c, []*twinConn{c}
		case c.pool == first.pool && c.pool != "":
			turn = append(turn, c)
		}
	}
	if first == nil || first.pool == "" {
		return first
	}
	slices.SortStableFunc(turn, func(a, b *twinConn) int { return int(b.credit + b.weight - a.credit - a.weight) })
	if len(turn) > 1 {
		a, b := turn[0], turn[1]
		if w.inFlight(b.id)*a.weight < w.inFlight(a.id)*b.weight {
			turn[0], turn[1] = b, a
		}
	}
	return turn[0]
}

// hold opens a hold on what was chosen of these, which pays.
func (w *routesTwin) hold(x *twinWaiter, of []string, c *twinConn) {
	for _, id := range of {
		if y := w.conn(id); w.open(x, y) && c.pool != "" && y.pool == c.pool {
			y.credit += y.weight
			c.credit -= y.weight
		}
	}
	w.holds[x.requestName], w.tokens[x.requestName] = twinHold{c.id, w.now + x.lease}, x.tokens
}

// want is a hold event: for a connection, for a pool, or for candidates.
func (w *routesTwin) want(e *events.Event) {
	name := nameOf(e)
	w.leave(name)
	before := w.holds[name].conn
	delete(w.holds, name)
	of, alone := []string{e.ConnectionID}, e.ConnectionID != ""
	for _, c := range e.Candidates {
		of = append(of, c.ConnectionID)
	}
	for _, c := range w.conns {
		if c.pool == e.Pool {
			of = append(of, c.id)
		}
	}
	if !alone {
		of = of[1:]
	}
	at, known := w.settled[name]
	settled := known && w.now-at < 3_600_000
	x := twinWaiter{requestName: name, of: of, lease: e.LeaseMs, tokens: int64(e.Cost[quota.Tokens]), model: e.Model}
	c := w.choose(&x, of)
	switch {
	case settled:
	case alone && c != nil:
		w.hold(&x, nil, c)
	case alone:
	case e.MaxWaitMs > 0 && c == nil && w.first(&x) != "":
		w.wait(e, x, w.first(&x))
	case c == nil:
		w.seen["refused"]++
	case slices.Contains(of, before) && w.open(&x, w.conn(before)):
		w.hold(&x, of, c)
	case e.MaxWaitMs > 0 && c.pool != "" && w.queues[c.pool].claimed(e.APIKeyID, c.id, w.came+1) != nil:
		w.seen["behind"]++
		w.wait(e, x, c.pool)
	default:
		w.hold(&x, of, c)
	}
}

// first is the pool of the first that lacks but a place.
func (w *routesTwin) first(x *twinWaiter) string {
	for _, id := range x.of {
		if c := w.conn(id); !w.capped(x, c) {
			return c.pool
		}
	}
	return ""
}

func (q *twinQueue) of(key string) *twinKey {
	for _, k := range q.keys {
		if k.key == key {
			return k
		}
	}
	return nil
}

// claimed returns what of the key came before the so manieth and waits for that
// connection, nil when nothing does.
func (q *twinQueue) claimed(key, conn string, before int) *twinWaiter {
	if k := q.of(key); k != nil {
		for _, i := range k.firsts() {
			if x := &k.waiting[i]; x.came < before && slices.Contains(x.of, conn) {
				return x
			}
		}
	}
	return nil
}

func (w *routesTwin) wait(e *events.Event, x twinWaiter, pool string) {
	q := w.queues[pool]
	k := q.of(e.APIKeyID)
	if k == nil {
		k = &twinKey{key: e.APIKeyID, quantum: map[string]int64{"alice": 30_000_000, "bob": 2_000_000}[e.APIKeyID]}
		k.quantum = max(k.quantum, 1_000_000)
		q.keys = append(q.keys, k)
	}
	x.cost = x.tokens
	if x.cost == 0 {
		x.cost = 1_000_000
	}
	w.came++
	x.want, x.came, x.deadline = fmt.Sprint(e.Model, e.Pool == "", x.of), w.came, w.now+e.MaxWaitMs
	k.waiting = append(k.waiting, x)
	w.seen["waits"]++
}

// drop takes the i-th out of a key's queue. Of what was saved while it was one that might
// go, the others keep what the dearest of them costs.
func (q *twinQueue) drop(k *twinKey, i int) {
	looked := slices.Contains(k.firsts(), i)
	k.waiting = slices.Delete(k.waiting, i, i+1)
	if len(k.waiting) > 0 {
		if looked {
			most := int64(0)
			for _, i := range k.firsts() {
				most = max(most, k.waiting[i].cost)
			}
			k.saved = min(k.saved, most)
		}
		return
	}
	at := slices.Index(q.keys, k)
	q.keys = slices.Delete(q.keys, at, at+1)
	if at == 0 {
		q.given = false
	}
}

func (w *routesTwin) leave(name requestName) {
	for _, q := range w.queues {
		if k := q.of(name.key); k != nil {
			if i := slices.IndexFunc(k.waiting, func(x twinWaiter) bool { return x.requestName == name }); i >= 0 {
				q.drop(k, i)
				w.seen["left"]++
			}
		}
	}
}

// serve lets pass whoever can.
func (w *routesTwin) serve() {
	for _, pool := range []string{"p", "q"} {
		q := w.queues[pool]
		for _, k := range slices.Clone(q.keys) {
			for i := len(k.waiting) - 1; i >= 0; i-- {
				if k.waiting[i].deadline <= w.now {
					q.drop(k, i)
					w.seen["timed out"]++
				}
			}
		}
	}
	for went := true; went; {
		went = false
		for _, pool := range []string{"p", "q"} {
			went = w.pass(w.queues[pool], pool) || went
		}
		for _, pool := range []string{"p", "q"} {
			if w.pass(w.queues[pool], "") {
				went = true
				w.seen["elsewhere"]++
			}
		}
	}
}

// pass lets pass whoever can to that pool, "" = to any, and reports whether somebody went.
func (w *routesTwin) pass(q *twinQueue, pool string) (went bool) {
	goes := func(k *twinKey) bool { _, _, c := w.goes(q, k, pool); return c != nil }
	for slices.ContainsFunc(q.keys, goes) {
		w.visit(q, pool)
		went = true
	}
	return went
}

// goes returns which of a key goes, of which connections, and where: the first of a want
// that finds a place of which no earlier one of the key would have anything.
func (w *routesTwin) goes(q *twinQueue, k *twinKey, pool string) (i int, of []string, c *twinConn) {
	for _, i := range k.firsts() {
		x := &k.waiting[i]
		of := slices.DeleteFunc(slices.Clone(x.of), func(id string) bool { return pool != "" && w.conn(id).pool != pool })
		if c, of := w.unclaimed(q, x, of); c != nil {
			if i > 0 {
				w.seen["not the first"]++
			}
			return i, of, c
		}
	}
	return 0, nil, nil
}

// unclaimed chooses of these, without what earlier ones of the key want that want what
// would be chosen.
func (w *routesTwin) unclaimed(q *twinQueue, x *twinWaiter, of []string) (*twinConn, []string) {
	for {
		c := w.choose(x, of)
		if c == nil {
			return nil, nil
		}
		y, own := q.claimed(x.key, c.id, x.came), true
		if y == nil && c.pool != "" {
			y, own = w.queues[c.pool].claimed(x.key, c.id, x.came), false
		}
		if y == nil {
			return c, of
		}
		w.seen["claimed"]++
		if !own {
			w.seen["claimed elsewhere"]++
		}
		of = slices.DeleteFunc(of, func(id string) bool {
			alike := y.model == x.model && (own || w.conn(id).pool == c.pool)
			return id == c.id || alike && slices.Contains(y.of, id)
		})
	}
}

// visit is the visit of the first key: it goes once if its savings pay for it, else the
// next key is visited.
func (w *routesTwin) visit(q *twinQueue, pool string) {
	k := q.keys[0]
	i, of, c := w.goes(q, k, pool)
	x := k.waiting[i]
	if c != nil && k.saved < x.cost && !q.given {
		k.saved += k.quantum
		q.given = true
	}
	if c == nil || k.saved < x.cost {
		q.keys, q.given = append(q.keys[1:], k), false
		return
	}
	w.hold(&x, of, c)
	w.seen["granted"]++
	left := k.saved - x.cost
	q.drop(k, i)
	k.saved = left
}
