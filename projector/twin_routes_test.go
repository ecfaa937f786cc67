package projector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/quota"
)

// routesTwin is routing in a world without limits, as one would write it who keeps
// lists and goes along them.
type routesTwin struct {
	*rapid.T
	s       *projector.State
	seq     uint64
	now     int64
	conns   []*twinConn // in the order of pools, then in theirs
	queues  map[string]*twinQueue
	holds   map[requestName]twinHold
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

// choose returns the connection of these that is next, nil when none is free.
func (w *routesTwin) choose(of []string) *twinConn {
	var first *twinConn
	var turn []*twinConn
	for _, id := range of {
		c := w.conn(id)
		switch {
		case !w.free(c):
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
func (w *routesTwin) hold(name requestName, of []string, c *twinConn, lease int64) {
	for _, id := range of {
		if x := w.conn(id); w.free(x) && c.pool != "" && x.pool == c.pool {
			x.credit += x.weight
			c.credit -= x.weight
		}
	}
	w.holds[name] = twinHold{c.id, w.now + lease}
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
	c := w.choose(of)
	switch {
	case settled:
	case alone && c != nil:
		w.holds[name] = twinHold{c.id, w.now + e.LeaseMs}
	case alone:
	case e.MaxWaitMs > 0 && c == nil:
		w.wait(e, of, w.conn(of[0]).pool)
	case slices.Contains(of, before) && w.free(w.conn(before)):
		w.hold(name, of, c, e.LeaseMs)
	case e.MaxWaitMs > 0 && c.pool != "" && w.queues[c.pool].claimed(e.APIKeyID, c.id, w.came+1):
		w.wait(e, of, c.pool)
	case c != nil:
		w.hold(name, of, c, e.LeaseMs)
	default:
		w.seen["refused"]++
	}
}

func (q *twinQueue) of(key string) *twinKey {
	for _, k := range q.keys {
		if k.key == key {
			return k
		}
	}
	return nil
}

// claimed reports whether something of the key that came before the so manieth waits for
// that connection.
func (q *twinQueue) claimed(key, conn string, before int) bool {
	k := q.of(key)
	return k != nil && slices.ContainsFunc(k.firsts(), func(i int) bool {
		return k.waiting[i].came < before && slices.Contains(k.waiting[i].of, conn)
	})
}

func (w *routesTwin) wait(e *events.Event, of []string, pool string) {
	q := w.queues[pool]
	k := q.of(e.APIKeyID)
	if k == nil {
		k = &twinKey{key: e.APIKeyID, quantum: map[string]int64{"alice": 30_000_000, "bob": 2_000_000}[e.APIKeyID]}
		k.quantum = max(k.quantum, 1_000_000)
		q.keys = append(q.keys, k)
	}
	cost := int64(e.Cost[quota.Tokens])
	if cost == 0 {
		cost = 1_000_000
	}
	w.came++
	want := fmt.Sprint(e.Model, e.Pool == "", of)
	k.waiting = append(k.waiting, twinWaiter{nameOf(e), of, want, w.came, cost, w.now + e.MaxWaitMs, e.LeaseMs})
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
		w.pass(q, pool)
	}
	for _, pool := range []string{"p", "q"} {
		w.pass(w.queues[pool], "")
	}
}

// pass lets pass whoever can to that pool, "" = to any.
func (w *routesTwin) pass(q *twinQueue, pool string) {
	for slices.ContainsFunc(q.keys, func(k *twinKey) bool { _, c := w.goes(q, k, pool); return c != nil }) {
		w.visit(q, pool)
	}
}

// goes returns which of a key goes, and where: the first of a want that finds a place of
// which no earlier one of the key would have anything.
func (w *routesTwin) goes(q *twinQueue, k *twinKey, pool string) (i int, c *twinConn) {
	for _, i := range k.firsts() {
		x := k.waiting[i]
		c := w.choose(x.of)
		if c == nil || pool != "" && c.pool != pool || q.claimed(k.key, c.id, x.came) || c.pool != "" && w.queues[c.pool].claimed(k.key, c.id, x.came) {
			continue
		}
		if i > 0 {
			w.seen["not the first"]++
		}
		return i, c
	}
	return 0, nil
}

// visit is the visit of the first key: it goes once if its savings pay for it, else the
// next key is visited.
func (w *routesTwin) visit(q *twinQueue, pool string) {
	k := q.keys[0]
	i, c := w.goes(q, k, pool)
	x := k.waiting[i]
	if c != nil && k.saved < x.cost && !q.given {
		k.saved += k.quantum
		q.given = true
	}
	if c == nil || k.saved < x.cost {
		q.keys, q.given = append(q.keys[1:], k), false
		return
	}
	w.hold(x.requestName, x.of, c, x.lease)
	w.seen["granted"]++
	left := k.saved - x.cost
	q.drop(k, i)
	k.saved = left
}

// TestRoutesEqualTheirDumbTwin: who holds what, who waits in which order, and what the
// connections owe each other.
func TestRoutesEqualTheirDumbTwin(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := &routesTwin{
			T: t, s: projector.NewState(memstore.New()), now: start, seen: seen, queues: map[string]*twinQueue{"p": {}, "q": {}},
			holds: map[requestName]twinHold{}, settled: map[requestName]int64{},
		}
		w.pool("p", "c1", "c2", "c3")
		w.pool("q", "c4")
		for range rapid.IntRange(100, 200).Draw(t, "steps") {
			w.step()
			w.compare()
		}
	})
	for _, want := range []string{"waits", "granted", "timed out", "left", "refused", "not the first"} {
		if seen[want] == 0 {
			t.Errorf("%d times %s, of %v", seen[want], want, seen)
		}
	}
}

func (w *routesTwin) pool(id string, connections ...string) {
	list := ""
	for _, c := range connections {
		x := &twinConn{id: c, pool: id, weight: rapid.Int64Range(1, 4).Draw(w.T, "weight"), most: rapid.SampledFrom([]int64{1, 1, 2}).Draw(w.T, "most")}
		w.conns = append(w.conns, x)
		list += fmt.Sprintf(`,{"connectionId":%q,"weight":%d,"maxConcurrent":%d}`, c, x.weight, x.most)
	}
	w.publish("quota.config.pool."+id, fmt.Sprintf(`{"id":%q,"name":"n","provider":"custom","connections":[%s],"allocations":[{"apiKeyId":"alice","weight":30},{"apiKeyId":"bob","weight":2}]}`,
		id, list[1:]))
}

func (w *routesTwin) publish(subject, body string) {
	w.seq++
	m := events.Message{Subject: subject, Seq: w.seq, Time: w.now, Data: []byte(body)}
	if strings.HasPrefix(subject, events.ConfigPrefix) {
		m.Header = map[string][]string{"Quota-Config": {"put"}}
	}
	fold(w.T, w.s, []events.Message{m}, 1)
	if n := w.s.Counts().Rejected; n > 0 {
		w.Fatalf("%s is rejected: %s", subject, body)
	}
}

func (w *routesTwin) step() {
	w.now += rapid.SampledFrom([]int64{0, 0, 1, 1_000, 30_000}).Draw(w.T, "gap")
	for name, h := range w.holds {
		if h.end <= w.now {
			delete(w.holds, name)
		}
	}
	w.serve()
	name := requestName{rapid.SampledFrom([]string{"alice", "alice", "bob", "carol"}).Draw(w.T, "key"), manyRequests.Draw(w.T, "request")}
	switch 24 - rapid.IntRange(0, 24).Draw(w.T, "what") { // small numbers are drawn more often
	case 0:
		w.publish("quota.due", "{}")
	case 1, 2, 4, 5, 6, 7:
		w.publish("quota.release", fmt.Sprintf(`{"apiKeyId":%q,"requestId":%q}`, name.key, name.request))
		w.leave(name)
		delete(w.holds, name)
	case 3:
		w.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":%q,"requestId":%q,"connectionId":"c1"}`, name.key, name.request))
		w.leave(name)
		delete(w.holds, name)
		if at, known := w.settled[name]; !known || w.now-at >= 3_600_000 {
			w.settled[name] = w.now
		}
	default:
		e := routedHold(w.T, w.seq, 0)
		e.APIKeyID, e.RequestID = name.key, name.request
		e.MaxWaitMs = rapid.SampledFrom([]int64{0, 1_000, 3_600_000, 3_600_000}).Draw(w.T, "wait")
		switch of := rapid.IntRange(0, 9).Draw(w.T, "of one"); {
		case of == 0:
			e.ConnectionID, e.Pool, e.Candidates = rapid.SampledFrom([]string{"c1", "c4", "c9"}).Draw(w.T, "conn"), "", nil
		case of < 5: // another want than those of its key, mostly
			e.ConnectionID, e.Pool = "", ""
			e.Candidates = []events.Candidate{{ConnectionID: rapid.SampledFrom([]string{"c1", "c2", "c3", "c4"}).Draw(w.T, "conn")}}
		}
		w.publish("quota.hold", string(events.AppendJSON(nil, &e)))
		w.want(&e)
	}
	w.serve()
}

func (w *routesTwin) compare() {
	holds := map[[16]byte]twinHold{}
	for name, h := range w.holds {
		holds[projector.RequestOf(name.key, name.request)] = h
	}
	got := map[[16]byte]twinHold{}
	for name, h := range w.s.OpenHolds() {
		got[name] = twinHold{h.Connection, h.End}
	}
	if d := cmp.Diff(holds, got, cmp.AllowUnexported(twinHold{})); d != "" {
		w.Fatalf("holds (-twin +state):\n%s", d)
	}
	var waits, waiting [][16]byte
	for _, pool := range []string{"p", "q"} {
		for _, k := range w.queues[pool].keys {
			for _, x := range k.waiting {
				waits = append(waits, projector.RequestOf(x.key, x.request))
			}
		}
	}
	for _, x := range w.s.Waiting() {
		waiting = append(waiting, x.Request)
	}
	if d := cmp.Diff(waits, waiting); d != "" {
		w.Fatalf("who waits (-twin +state):\n%s", d)
	}
	var credits []int64
	for _, c := range w.conns {
		credits = append(credits, c.credit)
	}
	if d := cmp.Diff(credits, append(slices.Clone(w.s.Credits("p")), w.s.Credits("q")...)); d != "" {
		w.Fatalf("credits (-twin +state):\n%s", d)
	}
}
