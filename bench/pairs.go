package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/questions"
)

// pairsPerConnection is how many keys each connection has. Every pair has a key
// of its own, so the memory of a name is in the figure.
const pairsPerConnection = 1000

// pairs folds an event for each of very many (connection, key) pairs, stops the
// engine, and measures what the next start takes: time until the first answer,
// and memory.
func pairs(ctx context.Context, r *runner) (rows []Row, err error) {
	w, err := r.openWorld(ctx, relaxedSync)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	last, err := r.writePairs(ctx, w)
	if err != nil {
		return nil, err
	}
	e, err := r.startEngine(ctx, w)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(e.await(ctx, last), w.furnish(ctx, e), e.stop()); err != nil {
		return nil, err
	}
	return r.startAgain(ctx, w)
}

func (r *runner) writePairs(ctx context.Context, w *world) (uint64, error) {
	p := publisher{js: w.js, subject: "quota.consumption"}
	var batch []events.Event
	for n := range r.pairs {
		e := usage(n, fmt.Sprintf("key-%08d", n), fmt.Sprintf("codex-%05d", n/pairsPerConnection))
		e.Model = "" // a model would be a pair of its own
		batch = append(batch, e)
		if len(batch) < 500 && n < r.pairs-1 {
			continue
		}
		if err := p.publish(batch); err != nil {
			return 0, err
		}
		batch = batch[:0]
	}
	return p.flush(ctx)
}

func (r *runner) startAgain(ctx context.Context, w *world) (rows []Row, err error) {
	before := liveHeap()
	start := time.Now()
	e, err := r.startEngine(ctx, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.stop()) }()
	if _, err := once(ctx, w.client, questions.Subject, []byte(question)); err != nil {
		return nil, err
	}
	took := time.Since(start)
	perPair := (liveHeap() - before) / float64(r.pairs)
	size := fmt.Sprintf("%d pairs, 3 units each", r.pairs)
	return []Row{
		Row{Name: "start to first answer", Unit: "s", Ours: took.Seconds(), Note: size}.judged(atMost(5)),
		Row{Name: "live heap for a (connection, key) pair", Unit: "bytes", Ours: perPair, Note: size}.judged(atMost(1024)),
	}, nil
}

// liveHeap returns the bytes that are in use. The second collection finishes
// what the first one left to be swept.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
