package projector

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/quota"
)

// MaxLocals bounds the local holds of one process. They are of an outage of the log:
// of seconds, and of what a pair of deciders lets pass meanwhile.
const MaxLocals = 65_536

// LocalHold is a hold that a decider counts while the log takes no commits.
type LocalHold struct {
	ID                            string // of its event
	APIKeyID, ConnectionID, Model string
	RequestID                     string
	Amounts                       quota.Amounts
	End                           int64 // by the clock of who counts it, epoch ms
	Own                           bool  // let pass by this process, not heard of
}

// Locals are the holds that count beside those of the state until the fold has
// them. A hold is dropped when the fold sees its event, whatever the verdict, and
// when its request is settled or released; else it ends by the clock. One that
// renews or moves an open hold counts beside that until then: too much for a moment
// rather than too little.
//
// They are no state: each process has its own, a rebuilt state goes on with them,
// and nothing of the fold depends on them. The zero Locals has none.
type Locals struct {
	n atomic.Int64 // so that a question without any takes no lock

	mu        sync.RWMutex // held for reading by who asks
	firstEnd  int64        // not after the first end of any
	byRequest map[idHash]*local
	byID      map[string]*local
	byConn    map[string]*localConn
	counts    LocalCounts
	seen      seenHolds
}

type local struct {
	LocalHold
	request idHash
	at      int // place in the list of its connection
}

// localConn are the local holds of a connection. They are added up like those of the
// state: an outage leaves thousands, and each question would look at all.
type localConn struct {
	list   []*local
	all    localSum
	keys   map[string]*localSum
	models map[[2]string]*localSum // by key and model
}

type localSum struct {
	n    int
	sum  heldByUnit
	most quota.Amounts // no hold has more of a unit
}

// sums calls fn for each sum that the hold is in.
func (c *localConn) sums(x *local, fn func(*localSum)) {
	key, model := c.keys[x.APIKeyID], c.models[[2]string{x.APIKeyID, x.Model}]
	if key == nil {
		key = new(localSum)
		c.keys[x.APIKeyID] = key
	}
	if model == nil {
		model = new(localSum)
		c.models[[2]string{x.APIKeyID, x.Model}] = model
	}
	fn(&c.all)
	fn(key)
	fn(model)
	if key.n == 0 {
		delete(c.keys, x.APIKeyID)
	}
	if model.n == 0 {
		delete(c.models, [2]string{x.APIKeyID, x.Model})
	}
}

func (c *localConn) add(x *local) {
	x.at = len(c.list)
	c.list = append(c.list, x)
	c.sums(x, func(s *localSum) {
		s.n++
		s.sum.add(&x.Amounts)
		for u, a := range x.Amounts {
			s.most[u] = max(s.most[u], a)
		}
	})
}

func (c *localConn) remove(x *local) {
	last := len(c.list) - 1
	c.list[x.at] = c.list[last]
	c.list[x.at].at = x.at
	c.list[last] = nil
	c.list = c.list[:last]
	c.sums(x, func(s *localSum) {
		s.n--
		s.sum.sub(&x.Amounts)
	})
}

// LocalCounts count what became of local holds.
type LocalCounts struct {
	Made   uint64 // let pass here
	Heard  uint64 // let pass by another process
	Folded uint64 // of those made here, the fold saw the event: the verdict came too late
	Ended  uint64 // settled, released or over by the clock
	Full   uint64 // not counted, because there were MaxLocals
}

// Add counts a hold from now on, in place of another one of the request. It reports
// whether there was room.
func (l *Locals) Add(h *LocalHold, now int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	request := requestOf(h.APIKeyID, h.RequestID)
	if old := l.byRequest[request]; old != nil {
		if old.Own && !h.Own {
			return true // ours is on its way to the log, and would not be without this
		}
		l.remove(old)
	}
	l.expire(now)
	if len(l.byRequest) >= MaxLocals {
		l.counts.Full++
		return false
	}
	if l.byRequest == nil {
		l.byRequest, l.byID, l.byConn = make(map[idHash]*local), make(map[string]*local), make(map[string]*localConn)
	}
	x := &local{LocalHold: *h, request: request}
	l.byRequest[request], l.byID[x.ID] = x, x
	c := l.byConn[x.ConnectionID]
	if c == nil {
		c = &localConn{keys: make(map[string]*localSum), models: make(map[[2]string]*localSum)}
		l.byConn[x.ConnectionID] = c
	}
	c.add(x)
	if l.n.Add(1) == 1 || x.End < l.firstEnd {
		l.firstEnd = x.End
	}
	if x.Own {
		l.counts.Made++
	} else {
		l.counts.Heard++
	}
	return true
}

// Hear counts a hold that another process let pass, unless the log has it already. It
// reports whether there was room. Of an event that the fold has seen, the hold that it
// opened may be over by now.
func (s *State) Hear(h *LocalHold, now int64) bool {
	s.mu.Lock() // so that the fold does not see the event in between
	defer s.mu.Unlock()
	request := requestOf(h.APIKeyID, h.RequestID)
	return s.holds.byID[request] != 0 || s.Locals.seen.has(h.ID) || s.over(request) || s.Locals.Add(h, now)
}

// Hold counts a hold that this process let pass without a verdict. It reports whether
// it counts.
func (s *State) Hold(h *LocalHold, now int64) bool {
	s.mu.Lock() // so that the fold does not settle it in between
	defer s.mu.Unlock()
	return !s.over(requestOf(h.APIKeyID, h.RequestID)) && s.Locals.Add(h, now)
}

// over reports whether the request was settled: a caller who leaves at once says so at
// once, and nothing comes after that would end a local hold. A fault of the store is
// the fold's to tell, which reads the same. The caller holds the lock of the fold, whose
// memory this is; but a cut is made without that.
func (s *State) over(request idHash) bool {
	s.cutting.Lock()
	defer s.cutting.Unlock()
	_, settled, err := s.settled.find(request, s.logTime)
	return err == nil && settled
}

// Remove takes back a hold that was added in vain: its verdict came meanwhile.
func (l *Locals) Remove(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.byID[id]; x != nil {
		l.remove(x)
		l.counts.Made--
	}
}

// Has reports whether the hold of that event counts still at now.
func (l *Locals) Has(id string, now int64) bool {
	if l.n.Load() == 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.byID[id]
	return x != nil && x.End > now
}

// Stats returns how many holds count at now, and what became of them.
func (l *Locals) Stats(now int64) (open int, counts LocalCounts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	return len(l.byRequest), l.counts
}

func (l *Locals) remove(x *local) {
	delete(l.byRequest, x.request)
	delete(l.byID, x.ID)
	c := l.byConn[x.ConnectionID]
	if c.remove(x); len(c.list) == 0 {
		delete(l.byConn, x.ConnectionID)
	}
	l.n.Add(-1)
}

// expire drops what is over by the clock. It looks at all when something may be.
func (l *Locals) expire(now int64) {
	if len(l.byRequest) == 0 || now < l.firstEnd {
		return
	}
	l.firstEnd = math.MaxInt64
	for _, x := range l.byRequest {
		if x.End <= now {
			l.remove(x)
			l.counts.Ended++
		} else {
			l.firstEnd = min(l.firstEnd, x.End)
		}
	}
}

// read returns the local holds for who asks at now, locked until done with them; nil
// when there are none. l may be nil.
func (l *Locals) read(now int64) *Locals {
	if l.none() {
		return nil
	}
	l.mu.RLock()
	if now >= l.firstEnd {
		l.mu.RUnlock()
		l.mu.Lock()
		l.expire(now)
		l.mu.Unlock()
		l.mu.RLock()
	}
	return l
}

func (l *Locals) readDone() {
	if l != nil {
		l.mu.RUnlock()
	}
}

// none reports whether there is nothing to look at; l may be nil.
func (l *Locals) none() bool { return l == nil || l.n.Load() == 0 }

// folded drops the hold of an event that is folded.
func (l *Locals) folded(id string) {
	if l != nil {
		l.seen.add(id)
	}
	if l.none() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.byID[id]; x != nil {
		l.remove(x)
		if x.Own {
			l.counts.Folded++
		}
	}
}

// ended drops the hold of a request that was settled or released.
func (l *Locals) ended(request idHash) {
	if l.none() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.byRequest[request]; x != nil {
		l.remove(x)
		l.counts.Ended++
	}
}

// lowered takes a part of the consumption off the hold of its request.
func (l *Locals) lowered(request idHash, by *quota.Amounts) {
	if l.none() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.byRequest[request]; x != nil {
		c := l.byConn[x.ConnectionID]
		c.remove(x)
		for u := range x.Amounts {
			x.Amounts[u] = max(0, x.Amounts[u]-by[u])
		}
		c.add(x)
	}
}

// heldLocally adds up the local holds on the pool's connections, but for that of the
// request itself, which the question would replace.
func (r *reader) heldLocally(u quota.Unit, most quota.Amount, whose fairshare.Whose, now int64) quota.Amount {
	var total heldSum
	for i := range r.p.doc.Connections {
		c := r.locals.byConn[r.p.doc.Connections[i].ConnectionID]
		if c == nil {
			continue
		}
		largest := quota.Amount(0)
		r.eachSum(c, whose, func(s *localSum) {
			total.plus(s.sum[u])
			largest = max(largest, s.most[u])
		})
		if own := r.locals.byRequest[r.request]; own != nil && own.ConnectionID == r.p.doc.Connections[i].ConnectionID && r.isLocalOf(own, whose) {
			total.sub(own.Amounts[u])
		}
		if most > 0 && largest > most || now >= r.locals.firstEnd {
			total.minus(r.localExcess(c, u, most, whose, now))
		}
	}
	return total.amount()
}

// localExcess is what of a connection's holds does not count: what is above most,
// and all of those that are over.
func (r *reader) localExcess(c *localConn, u quota.Unit, most quota.Amount, whose fairshare.Whose, now int64) (total heldSum) {
	for _, x := range c.list {
		switch {
		case x.request == r.request || !r.isLocalOf(x, whose):
		case x.End <= now:
			total.add(x.Amounts[u])
		case most > 0 && x.Amounts[u] > most:
			total.add(x.Amounts[u] - most)
		}
	}
	return total
}

// eachSum calls fn for the sums of a connection that the holds are all of.
func (r *reader) eachSum(c *localConn, whose fairshare.Whose, fn func(*localSum)) {
	switch {
	case whose == fairshare.OfAll:
		fn(&c.all)
	case whose == fairshare.OfAsker && r.others != nil:
		for key, s := range c.keys {
			if r.isUnlisted(key) {
				fn(s)
			}
		}
	case whose == fairshare.OfAsker:
		if s := c.keys[r.asker]; s != nil {
			fn(s)
		}
	default:
		if s := c.models[[2]string{r.asker, r.name}]; s != nil {
			fn(s)
		}
	}
}

func (r *reader) isUnlisted(key string) bool {
	_, listed := r.p.alloc[r.s.names.find(key)]
	return !listed
}

// isLocalOf reports whether a local hold is of those.
func (r *reader) isLocalOf(x *local, whose fairshare.Whose) bool {
	switch {
	case whose == fairshare.OfAll:
		return true
	case whose == fairshare.OfAsker && r.others != nil:
		return r.isUnlisted(x.APIKeyID)
	}
	return x.APIKeyID == r.asker && (whose == fairshare.OfAsker || r.name != "" && x.Model == r.name)
}

// localHolds appends the local holds one by one.
func (r *reader) localHolds(dst []fairshare.Hold) []fairshare.Hold {
	for i := range r.p.doc.Connections {
		c := r.locals.byConn[r.p.doc.Connections[i].ConnectionID]
		if c == nil {
			continue
		}
		for _, x := range c.list {
			if x.request != r.request {
				dst = append(dst, fairshare.Hold{
					Amounts: x.Amounts, End: x.End,
					Key: r.isLocalOf(x, fairshare.OfAsker), Model: r.isLocalOf(x, fairshare.OfAskersModel),
					Allocation: r.p.asks(r.s.names.find(x.APIKeyID)),
				})
			}
		}
	}
	return dst
}
