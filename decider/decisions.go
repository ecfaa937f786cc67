package decider

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// maxWaiting bounds the rows that wait to be published. They are made at most
// once a second for each key and what it asks, and leave every second: so many are
// of thousands of keys that are blocked, or of an outage. The newest are kept, as those
// who look for what happens want them. What they name of other blocks, 150 bytes each,
// is 120 MB were each of a hundred blocks and more: 27,000 blocks a second for the half
// minute in which the broker takes none.
const maxWaiting = 8192

// maxLate bounds the answers that wait for the rows. They are in use for the time
// that a copy of all takes, at most.
const maxLate = 1024

// decisions are the rows of answers, on their way to those who watch and to the
// decision log. No answer waits for them.
type decisions struct {
	process string
	bell    chan struct{} // there are rows to publish
	late    chan *row     // answers that found the rows in use

	// What became of rows, beside being stored.
	missedBlocks, missedAllows atomic.Uint64 // found the rows in use, and late full
	displaced                  atomic.Uint64 // made way for newer ones
	stored, dropped            atomic.Uint64 // the broker took them, or did not

	mu     sync.Mutex
	recent recent
	open   map[blockKey]*row // those that equal blocks may still join
	// waiting are not published yet, flight are; either is oldest first. The
	// flight has a number, and all rows of smaller ones are stored or given up.
	waiting, flight []*row
	number          uint64
}

// row is one answer, or equal blocks within a second.
type row struct {
	questions.Record
	block uint64 // number among those that block; 0 = it does not
}

func newDecisions(process string) *decisions {
	return &decisions{process: process, bell: make(chan struct{}, 1), late: make(chan *row, maxLate), open: map[blockKey]*row{}, number: 1}
}

// record takes an answer in, if it is one to be recorded: every one that blocks,
// or would, and of the others a sample. connection is that of fairshare.Answer,
// and index the hold's place in its message, or questions.FromView. An answer
// about another time is none: nobody was blocked.
func (e *Engine) record(q *questions.Question, a *projector.Asked, r *questions.Reply, connection, index int) {
	if q.At != 0 {
		return
	}
	if !blocks(r) && !sampled(q, a, r) {
		return
	}
	asked := about{index: index, local: a.CountsLocals()}
	asked.connection, asked.pool = answers.About(q, a, r, connection)
	e.decisions.add(q, r, &asked, e.now())
}

func sampled(q *questions.Question, a *projector.Asked, r *questions.Reply) bool {
	id := q.RequestID
	if id == "" {
		id = r.DecisionID
	}
	return questions.Sampled(q.APIKeyID, id, a.SampleRate)
}

// about is what an answer is about that neither question nor reply say.
type about struct {
	index            int
	local            bool // holds that the log does not have counted
	connection, pool string
}

// add takes in an answer at now, epoch ms. It waits for nobody: when the rows are
// in use, the answer goes in with what comes next, and when too many are waiting
// for that it is counted.
func (d *decisions) add(q *questions.Question, r *questions.Reply, a *about, now int64) {
	if d.mu.TryLock() {
		defer d.mu.Unlock()
		d.catchUp()
		if blocks(r) {
			one := questions.Answered{DecisionID: r.DecisionID, RequestID: r.RequestID, Time: now, Index: a.index, AsOf: r.AsOf}
			if d.joins(blockKeyOf(q, a, r), one) {
				return
			}
		}
		d.push(d.make(q, r, a, now))
		return
	}
	select {
	case d.late <- d.make(q, r, a, now):
		d.ring()
	default:
		if blocks(r) {
			d.missedBlocks.Add(1)
		} else {
			d.missedAllows.Add(1)
		}
	}
}

func blocks(r *questions.Reply) bool { return !r.Allow || r.WouldBlock }

// joins counts a block with the equal ones of its second, if there are any.
func (d *decisions) joins(key blockKey, one questions.Answered) bool {
	have := d.open[key]
	if have == nil || over(have.Time, one.Time) {
		return false
	}
	one.RequestID = strings.Clone(one.RequestID) // it may be a part of a message
	have.Join(one)
	return true
}

// lock is for all but answers.
func (d *decisions) lock() {
	d.mu.Lock()
	d.catchUp()
}

// catchUp takes in the answers that found the rows in use.
func (d *decisions) catchUp() {
	for {
		select {
		case r := <-d.late:
			if !blocks(&r.Reply) || !d.joins(r.key(), r.First()) {
				d.push(r)
			}
		default:
			return
		}
	}
}

// over reports whether a row that began at that time takes nothing more in. A
// clock that was set back ends it too: it would stay open until then.
func over(began, now int64) bool { return now < began || now >= began+blockSpan }

func (d *decisions) make(q *questions.Question, r *questions.Reply, a *about, now int64) *row {
	made := &row{Record: questions.Keep(q, r)}
	made.Time, made.Index, made.Local, made.Process = now, a.index, a.local, d.process
	made.ConnectionID, made.PoolID = a.connection, a.pool
	if q.Reserve { // under the name that the hold has
		made.Question.RequestID = made.Reply.RequestID
	}
	switch a.connection { // not the message's text
	case q.ConnectionID:
		made.ConnectionID = made.Question.ConnectionID
	case r.ConnectionID:
		made.ConnectionID = made.Reply.ConnectionID
	}
	return made
}

func (d *decisions) push(made *row) {
	if len(d.waiting) == maxWaiting {
		d.shut(d.waiting[0])
		d.waiting = d.waiting[1:]
		d.displaced.Add(1)
	}
	d.waiting = append(d.waiting, made)
	if blocks(&made.Reply) {
		d.recent.push(made)
		d.open[made.key()] = made
	}
	d.ring()
}

func (d *decisions) ring() {
	select {
	case d.bell <- struct{}{}:
	default:
	}
}

func (r *row) key() blockKey {
	return blockKeyOf(&r.Question, &about{local: r.Local, connection: r.ConnectionID, pool: r.PoolID}, &r.Reply)
}

// shut makes equal blocks begin a new row.
func (d *decisions) shut(r *row) {
	if key := r.key(); r.block != 0 && d.open[key] == r {
		delete(d.open, key)
	}
}

// after returns the blocks after that number which are over at now.
func (d *decisions) after(seq uint64, now int64) []httpapi.Block {
	d.lock()
	defer d.mu.Unlock()
	return d.recent.after(seq, now)
}

// take makes the rows that are over at now, or all, the flight. It ends with
// landed, before the next take.
func (d *decisions) take(now int64, all bool) (flight []*row, number uint64) {
	d.lock()
	defer d.mu.Unlock()
	n := 0
	for n < len(d.waiting) && (all || over(d.waiting[n].Time, now)) {
		d.shut(d.waiting[n])
		n++
	}
	d.flight = d.waiting[:n:n]
	d.waiting = append([]*row(nil), d.waiting[n:]...)
	return d.flight, d.number
}

// landed says that nothing more becomes of the flight.
func (d *decisions) landed() {
	d.lock()
	defer d.mu.Unlock()
	d.flight = nil
	d.number++
}

// empty reports whether no row waits.
func (d *decisions) empty() bool {
	d.lock()
	defer d.mu.Unlock()
	return len(d.waiting) == 0
}

// unstored returns what is not known to be stored, the newest first, and the
// number of the first flight that it may be stored with.
func (d *decisions) unstored() (list []questions.Record, number uint64) {
	d.lock()
	defer d.mu.Unlock()
	for i := len(d.waiting) - 1; i >= 0; i-- {
		r := d.waiting[i].Record
		r.Others = slices.Clone(r.Others) // equal blocks may still join
		list = append(list, r)
	}
	for i := len(d.flight) - 1; i >= 0; i-- {
		list = append(list, d.flight[i].Record)
	}
	return list, d.number
}

// each gives what became of rows; all but the stored ones are lost.
func (d *decisions) each(f func(outcome string, n uint64)) {
	f("stored", d.stored.Load())
	f("missed", d.missedBlocks.Load()+d.missedAllows.Load())
	f("displaced", d.displaced.Load())
	f("dropped", d.dropped.Load())
}
