package sim

import (
	"container/heap"
	"fmt"
	"strings"

	"github.com/quotashare/quotashare/quota"
)

// start is the virtual instant at which every run begins: 2026-09-21T13:46:40Z.
// It is 46 min 40 s into an hour, so buckets end soon and often.
const start int64 = 1_790_000_000_000 - 1_790_000_000_000%3_600_000 + 2_800_000

// world is one run: everybody in it, one virtual clock, and what is going to
// happen. Nothing runs beside anything else; whatever happens at one instant
// happens in the order in which it was arranged.
type world struct {
	Options
	dice     dice
	exact    bool // every request reserves and keeps to its estimate, see doc.go
	paced    bool // hours of small requests in pools of the rule guarantee, see doc.go
	now      int64
	steps    int
	closing  bool // nothing new begins
	queue    queue
	arranged uint64
	owed     int // things arranged that the end of the run waits for
	log      *log
	deciders []*decider
	check    *checker
	report   *Report
	names    names
	told     map[string]quota.Amount // by providers of paced runs, of each cycle
	silent   string                  // a connection of them whose provider says nothing
	trail    []line                  // the newest, in a ring
	err      error
}

// happening is something that is going to happen.
type happening struct {
	at     int64
	number uint64
	daemon bool // the end of the run does not wait for it
	do     func()
}

// queue is a heap of happenings by instant, then by number.
type queue []happening

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].number < q[j].number
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(happening)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	h := (*q)[last]
	(*q)[last] = happening{}
	*q = (*q)[:last]
	return h
}

// after arranges what must happen before the run may end.
func (w *world) after(ms int64, do func()) { w.owed++; w.arrange(ms, false, do) }

// daemon arranges what goes on for ever, as a decider that looks at the log.
func (w *world) daemon(ms int64, do func()) { w.arrange(ms, true, do) }

func (w *world) arrange(ms int64, daemon bool, do func()) {
	w.arranged++
	heap.Push(&w.queue, happening{w.now + ms, w.arranged, daemon, do})
}

// step lets the next thing happen.
func (w *world) step() {
	h := heap.Pop(&w.queue).(happening)
	w.now = h.at
	w.steps++
	if !h.daemon {
		w.owed--
	}
	h.do()
}

// line is one line of the trail. It is put into words only when somebody reads it.
type line struct {
	at     int64
	format string
	args   []any
}

// trailLines is how much of what happened last is shown with a failure.
const trailLines = 60

// say notes what happens. The arguments must not change any more.
func (w *world) say(format string, args ...any) {
	l := line{w.now, format, args}
	if w.Trace != nil {
		w.Trace(l.String())
	}
	if len(w.trail) == trailLines {
		w.trail = append(w.trail[:0], w.trail[1:]...)
	}
	w.trail = append(w.trail, l)
}

func (l line) String() string {
	ms := l.at - start
	return fmt.Sprintf("%9d.%03d s  ", ms/1000, ms%1000) + fmt.Sprintf(l.format, l.args...)
}

// fail ends the run.
func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = w.failure(fmt.Sprintf(format, args...))
	}
}

func (w *world) failure(what string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, step %d: %s\nwhat happened last:\n", w.Seed, w.steps, what)
	for _, l := range w.trail {
		b.WriteString(l.String())
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "run it again: go test ./sim -run 'TestSeed$' -seed=%d -steps=%d", w.Seed, w.Steps)
	return fmt.Errorf("%s", b.String())
}
