package projector

import (
	"math"
	"slices"
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

	mu        sync.Mutex
	firstEnd  int64 // not after the first end of any
	byRequest map[idHash]*local
	byID      map[string]*local
	byConn    map[string][]*local
	counts    LocalCounts
}

type local struct {
	LocalHold
	request idHash
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
		l.remove(old)
	}
	l.expire(now)
	if len(l.byRequest) >= MaxLocals {
		l.counts.Full++
		return false
	}
	if l.byRequest == nil {
		l.byRequest, l.byID, l.byConn = make(map[idHash]*local), make(map[string]*local), make(map[string][]*local)
	}
	x := &local{LocalHold: *h, request: request}
	l.byRequest[request], l.byID[x.ID] = x, x
	l.byConn[x.ConnectionID] = append(l.byConn[x.ConnectionID], x)
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

// Hear counts a hold that another process let pass, unless the log has it already.
// It reports whether there was room.
func (s *State) Hear(h *LocalHold, now int64) bool {
	request := requestOf(h.APIKeyID, h.RequestID)
	s.mu.RLock() // so that the fold does not see the event in between
	defer s.mu.RUnlock()
	return s.holds.byID[request] != 0 || s.Locals.Add(h, now)
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
	list := l.byConn[x.ConnectionID]
	i := slices.Index(list, x)
	last := len(list) - 1
	list[i], list[last] = list[last], nil
	if l.byConn[x.ConnectionID] = list[:last]; last == 0 {
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

// tidy is expire for who asks; l may be nil.
func (l *Locals) tidy(now int64) {
	if l.none() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
}

// none reports whether there is nothing to look at; l may be nil.
func (l *Locals) none() bool { return l == nil || l.n.Load() == 0 }

// folded drops the hold of an event that is folded.
func (l *Locals) folded(id string) {
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
		for u := range x.Amounts {
			x.Amounts[u] = max(0, x.Amounts[u]-by[u])
		}
	}
}

// gatherLocals takes in the local holds on the pool's connections, but for that of
// the request itself, which the question would replace.
func (r *reader) gatherLocals(apiKeyID, model string, request idHash) {
	l := r.s.Locals
	r.locals = r.locals[:0]
	if r.p == nil || l.none() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range r.p.doc.Connections {
		for _, x := range l.byConn[r.p.doc.Connections[i].ConnectionID] {
			if x.request == request {
				continue
			}
			own := x.APIKeyID == apiKeyID
			h := fairshare.Hold{Amounts: x.Amounts, End: x.End, Key: own, Model: own && model != "" && x.Model == model}
			if r.others != nil {
				_, listed := r.p.alloc[r.s.names.find(x.APIKeyID)]
				h.Key = !listed
			}
			r.locals = append(r.locals, h)
		}
	}
}

// heldLocally adds up the local holds that count at instant now.
func (r *reader) heldLocally(u quota.Unit, most quota.Amount, whose fairshare.Whose, now int64) (total quota.Amount) {
	for i := range r.locals {
		h := &r.locals[i]
		if h.End <= now || whose == fairshare.OfAsker && !h.Key || whose == fairshare.OfAskersModel && !h.Model {
			continue
		}
		amount := h.Amounts[u]
		if most > 0 {
			amount = min(amount, most)
		}
		total = quota.AddSat(total, amount)
	}
	return total
}
