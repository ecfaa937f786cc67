package decider

import (
	"container/heap"
	"sync"
	"time"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
)

// waiting is a call of Decide or Begin that waits for verdicts.
type waiting struct {
	p     *projection
	qs    []questions.Question
	rs    []questions.Reply
	first *pending
	left  int // verdicts that are missing
	began time.Time
	until time.Time
	gone  bool // nobody takes the answer
	done  func()
	place int // in the order of ends; -1 = in none

	unqueued bool // the writer was not asked to take its holds
	routed   bool // its questions are those of quota.route
}

// waiters are the calls that wait, and the one goroutine that answers them. The fold
// wakes it once for all that it judged together. A goroutine for each call would be
// woken, and would wake the connection's writer, as often as there are calls; and it
// would have to begin with a small stack each time.
type waiters struct {
	e    *Engine
	bell chan struct{}

	mu     sync.Mutex
	ends   ends
	judged []*pending // since it last looked
	urgent []*waiting // that wait no longer
	ended  bool
	alarm  *time.Timer
}

func newWaiters(e *Engine) *waiters {
	w := &waiters{e: e, bell: make(chan struct{}, 1), alarm: time.NewTimer(time.Hour)}
	w.alarm.Stop()
	return w
}

func (w *waiters) ring() {
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

// add takes in a call before its holds are written. It reports false when nothing is
// answered any more.
func (w *waiters) add(c *waiting) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return false
	}
	heap.Push(&w.ends, c)
	if c.place == 0 {
		w.alarm.Reset(time.Until(c.until))
	}
	return true
}

// remove takes a call out, and reports whether it was in: then it is the caller's to
// answer.
func (w *waiters) remove(c *waiting) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.place < 0 {
		return false
	}
	heap.Remove(&w.ends, c.place)
	return true
}

// leave ends the waiting of one call; gone says that nobody takes the answer.
func (w *waiters) leave(c *waiting, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.place >= 0 {
		c.gone = gone
		heap.Remove(&w.ends, c.place)
		w.urgent = append(w.urgent, c)
		w.ring()
	}
}

// hurry ends the waiting of all calls, as when no verdict will come.
func (w *waiters) hurry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hasten()
}

// end hurries all and takes in no more, in one step: the one who answers goes away as
// soon as it sees the end, and must have been given all that wait by then.
func (w *waiters) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.hasten()
}

// hasten makes all calls urgent, with the lock held.
func (w *waiters) hasten() {
	for _, c := range w.ends {
		c.place = -1
	}
	w.urgent = append(w.urgent, w.ends...)
	clear(w.ends)
	w.ends = w.ends[:0]
	w.ring()
}

// tell takes in what the fold has judged.
func (w *waiters) tell(list []*projector.Expected) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range list {
		w.judged = append(w.judged, x.Waiter.(*pending))
	}
	w.ring()
}

// start begins to answer; stop answers all that wait, and returns when nothing runs
// any more.
func (w *waiters) start() (stop func()) {
	w.mu.Lock()
	w.ended = false
	w.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run()
	}()
	return func() {
		w.end()
		<-done
	}
}

func (w *waiters) run() {
	var judged []*pending
	var due []*waiting
	for ended := false; !ended; {
		alarm := false
		select {
		case <-w.bell:
		case <-w.alarm.C:
			alarm = true
		}
		judged, due, ended = w.look(judged, due, alarm)
		for _, x := range judged {
			w.verdict(x)
		}
		for _, c := range due {
			w.e.conclude(c)
		}
		clear(judged)
		clear(due)
	}
}

// look returns what was judged and whose time is over, and takes the room of both
// lists back. The alarm is set for the first end and not moved when that call has its
// answer: it goes off in vain a few times a second, and is set anew then.
func (w *waiters) look(judged []*pending, due []*waiting, alarm bool) ([]*pending, []*waiting, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	judged, w.judged = w.judged, judged[:0]
	due, w.urgent = w.urgent, due[:0]
	if alarm {
		for now := time.Now(); len(w.ends) > 0 && !w.ends[0].until.After(now); {
			due = append(due, heap.Pop(&w.ends).(*waiting))
		}
		if len(w.ends) > 0 {
			w.alarm.Reset(time.Until(w.ends[0].until))
		}
	}
	return judged, due, w.ended
}

// verdict notes one, and answers the call when it was the last that was missing.
func (w *waiters) verdict(x *pending) {
	c := x.of
	x.came = true
	if c.left--; c.left == 0 && w.remove(c) {
		w.e.metrics.holds.took(c)
		w.e.conclude(c)
	}
	x.disown() // by the fold
}

// ends are calls by when their waiting ends, a heap.
type ends []*waiting

func (h ends) Len() int           { return len(h) }
func (h ends) Less(i, j int) bool { return h[i].until.Before(h[j].until) }
func (h ends) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements heap.Interface.
func (h *ends) Push(c any) {
	c.(*waiting).place = len(*h)
	*h = append(*h, c.(*waiting))
}

// Pop implements heap.Interface.
func (h *ends) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	c.place = -1
	return c
}
