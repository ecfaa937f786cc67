package lab

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/quotashare/quotashare/fairshare"
	"github.com/quotashare/quotashare/quota"
)

// points is how many of them a run has.
const points = 200

// Run lets the scenario run under the rule. The source of chance says only when keys ask
// again. An error is one of the scenario and names the field.
func Run(s *Scenario, kind Kind, rule Rule, r *rand.Rand) (*Result, error) {
	return RunContext(context.Background(), s, kind, rule, r)
}

// RunContext is Run for who may give it up: many keys that are always hungry take minutes.
// Then the error is that of the context.
func RunContext(ctx context.Context, s *Scenario, kind Kind, rule Rule, r *rand.Rand) (*Result, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("scenario %q: %w", s.Name, err)
	}
	run := newRun(s, kind, rule, r)
	for {
		key, at := run.nextToAsk()
		if at >= run.end {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		run.goTo(at)
		run.turn(key)
	}
	run.goTo(run.end)
	return run.result(), nil
}

// run is a scenario under way. Its instants are absolute.
type run struct {
	*ledger
	s          *Scenario
	r          *rand.Rand
	begin, end int64
	lines      []queue
	referee    referee
	windows    []window
	points     []Point
}

// queue is what a key has to ask for, the next first.
type queue struct {
	requests []Request
	at       int64 // when it asks next
}

func newRun(s *Scenario, kind Kind, rule Rule, r *rand.Rand) *run {
	run := &run{ledger: newLedger(s, kind, rule), s: s, r: r, lines: make([]queue, len(s.Keys))}
	run.begin = epoch * run.width
	run.end = run.begin + int64(s.Windows)*run.width
	run.now = run.begin
	for i, k := range s.Keys {
		run.lines[i].requests = k.Requests
		run.settle(i)
	}
	for range s.Windows {
		run.windows = append(run.windows, newWindow(len(s.Keys)))
	}
	for i, k := range s.Keys {
		for _, q := range k.Requests {
			run.windows[q.At/run.width].asked[i] += q.Size
		}
	}
	run.referee = newReferee(run)
	return run
}

// settle has the key ask next when its next request comes.
func (r *run) settle(key int) {
	l := &r.lines[key]
	l.at = r.end
	if len(l.requests) > 0 {
		l.at = r.begin + l.requests[0].At
	}
}

// nextToAsk is the key that asks next, the earlier in the scenario of several.
func (r *run) nextToAsk() (key int, at int64) {
	key, at = -1, r.end
	for i := range r.lines {
		if r.lines[i].at < at {
			key, at = i, r.lines[i].at
		}
	}
	return key, at
}

// goTo lets time go by: points are taken, and windows end.
func (r *run) goTo(at int64) {
	for {
		point := r.begin + int64(len(r.points))*(r.end-r.begin)/points
		turn := r.now - (r.now-r.begin)%r.width + r.width
		next := min(point, turn, at)
		if point > at && turn > at {
			break
		}
		r.now = next
		if next == turn && next <= at {
			r.referee.periodEnds()
		}
		if next == point {
			r.point()
		}
		if next == at {
			break
		}
	}
	r.now = at
}

func (r *run) point() {
	p := Point{At: r.now - r.begin, Used: make([]quota.Amount, len(r.keys))}
	for i, c := range r.keys {
		p.Used[i] = r.has(c)
	}
	r.points = append(r.points, p)
}

// turn is a key's: it gets what it asks for until it is refused, or has all.
func (r *run) turn(key int) {
	l := &r.lines[key]
	start := (r.now - r.begin) / r.width * r.width
	for len(l.requests) > 0 && l.requests[0].At < start { // it was of a window that is over
		l.requests = l.requests[1:]
	}
	for len(l.requests) > 0 && r.begin+l.requests[0].At <= r.now {
		size := l.requests[0].Size
		v := r.judge(key, size)
		if v.Reason.Blocks() {
			r.referee.refused(key, size)
			l.at = r.again(v)
			return
		}
		r.referee.admits(key, size)
		r.use(key, size)
		r.windows[(r.now-r.begin)/r.width].served[key] += size
		r.referee.admitted(key)
		l.requests = l.requests[1:]
	}
	r.referee.hasAll(key)
	r.settle(key)
}

// again is when a key that is refused asks again. Of a cycle that is full nothing comes
// free before it ends.
func (r *run) again(v fairshare.Verdict) int64 {
	if r.kind == Anchored && v.Reason == fairshare.GlobalSaturated {
		return r.now + r.left() + 1
	}
	return r.now + 1 + r.s.Retry/2 + r.r.Int64N(r.s.Retry)
}
