package httpapi

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/usage"
)

// watchedDouble is what happens in an engine of a test.
type watchedDouble struct {
	mu     sync.Mutex
	log    []Change // all that was written to the log
	folded uint64   // how far the state is
	rows   []Block
	proc   string
}

func (d *watchedDouble) Changes(_ context.Context, after uint64, limit int) (list []Change, next uint64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.log {
		switch {
		case c.Seq <= after || c.Seq > d.folded:
		case len(list) == limit:
			return list, list[limit-1].Seq, nil
		default:
			list = append(list, c)
		}
	}
	return list, 0, nil
}

func (d *watchedDouble) Folded() (last, change uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.log {
		if c.Seq <= d.folded {
			change = c.Seq
		}
	}
	return d.folded, change
}

func (d *watchedDouble) Process() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.proc
}

func (d *watchedDouble) Blocks(after uint64) (list []Block) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range d.rows {
		if b.Seq > after {
			list = append(list, b)
		}
	}
	return list
}

// scene is a double whose state and usage move.
type scene struct {
	*double

	mu      sync.Mutex
	lastSeq uint64 // of the log
	lost    bool   // there is no state
	used    map[string]quota.Amount
	takes   map[string]time.Duration // how long usage of a pool takes
	asked   []string                 // the pools whose usage was asked for
	making  int                      // how many usages are being made
	most    int                      // how many were at once
	panics  bool
	bad     string // the pool whose usage panics
	deaf    bool   // the log cannot be read
	mute    bool   // the log does not answer
	forgot  bool   // the log has no changes any more
	reads   int    // of the log
}

func newScene() *scene {
	s := &scene{double: newDouble(), used: map[string]quota.Amount{}, takes: map[string]time.Duration{}}
	s.proc = "p1"
	return s
}

func (s *scene) Ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.lost
}

func (s *scene) State(ctx context.Context, _ uint64, _ bool) (State, error) {
	last, _ := s.Folded()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mute {
		s.mu.Unlock()
		<-ctx.Done()
		s.mu.Lock()
		return State{}, ctx.Err()
	}
	if s.panics {
		panic("boom")
	}
	if s.lost {
		return State{}, Refuse(ErrUnavailable, "the engine is starting: try again")
	}
	return State{AppliedSeq: last, LastSeq: max(s.lastSeq, last)}, nil
}

func (s *scene) Changes(ctx context.Context, after uint64, limit int) ([]Change, uint64, error) {
	s.mu.Lock()
	deaf, forgot := s.deaf, s.forgot
	s.reads++
	s.mu.Unlock()
	switch {
	case deaf:
		return nil, 0, ErrUnavailable
	case forgot:
		return nil, 0, nil
	}
	return s.double.Changes(ctx, after, limit)
}

// Usage has a time that goes on with every look, as the real one has. It does not
// heed its context: whoever asks must not rely on that.
func (s *scene) Usage(_ context.Context, pool string) (*usage.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch _, ok := s.used[pool]; {
	case s.deaf:
		return nil, ErrUnavailable
	case !ok:
		return nil, ErrNotFound
	case s.bad == pool:
		panic("bad")
	}
	s.asked = append(s.asked, pool)
	n := int64(len(s.asked))
	u := &usage.Snapshot{
		PoolID: pool, GeneratedAt: n, AsOf: questions.AsOf{Seq: uint64(n), Time: n, LagMs: n},
		Dimensions: []usage.Dimension{{Unit: quota.Requests, Window: quota.Hourly, ConsumedTotal: s.used[pool]}},
	}
	if d := s.takes[pool]; d > 0 {
		s.making++
		s.most = max(s.most, s.making)
		s.mu.Unlock()
		<-time.After(d) // of the bubble that the test runs in
		s.mu.Lock()
		s.making--
	}
	return u, nil
}

func (s *scene) Pools() (list []Pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.used {
		rows := int(s.takes[id] / usageRow)
		list = append(list, Pool{Doc: &plans.Pool{
			ID: id, Connections: make([]plans.Connection, 1), Allocations: make([]plans.Allocation, rows),
		}})
	}
	slices.SortFunc(list, func(a, b Pool) int {
		if a.Doc.ID < b.Doc.ID {
			return -1
		}
		return 1
	})
	return list
}

// use sets what was used of a pool, and makes the pool.
func (s *scene) use(pool string, requests int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[pool] = quota.Amount(requests * quota.Requests.Scale())
}

// set changes the scene.
func (s *scene) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// atOnce returns how many usages are being made, and how many were at most.
func (s *scene) atOnce() (now, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.making, s.most
}

// tally returns how many times each pool's usage was asked for since the last
// time.
func (s *scene) tally() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	times := map[string]int{}
	for _, pool := range s.asked {
		times[pool]++
	}
	s.asked = nil
	return times
}

// change writes a change to the log; the state has it.
func (s *scene) change(c Change) {
	s.double.watchedDouble.mu.Lock()
	defer s.double.watchedDouble.mu.Unlock()
	s.log = append(s.log, c)
	s.folded = c.Seq
}

func (s *scene) block(b Block) {
	s.double.watchedDouble.mu.Lock()
	defer s.double.watchedDouble.mu.Unlock()
	s.rows = append(s.rows, b)
}
