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

// How many keys each connection has, and events a message. Every pair has a key
// of its own, so the memory of a name is in the figure.
const (
	pairsPerConnection = 1000
	pairsInMessage     = 500
)

// pairs folds an event for each of very many (connection, key) pairs, stops the
// engine, and measures what the next start takes: time until the first answer,
// and memory.
func pairs(ctx context.Context, r *runner) (rows []Row, err error) {
	w, err := r.openWorld(ctx, relaxedSync)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := r.foldPairs(ctx, w, func(*engine) error { return nil }); err != nil {
		return nil, err
	}
	return r.startAgain(ctx, w)
}

// foldPairs starts an engine, waits until it has folded all pairs, and stops it
// after what is to be done last.
func (r *runner) foldPairs(ctx context.Context, w *world, last func(*engine) error) error {
	seq, err := r.writePairs(ctx, w)
	if err != nil {
		return err
	}
	e, err := r.startEngine(ctx, w)
	if err != nil {
		return err
	}
	if err := errors.Join(e.await(ctx, seq), w.furnish(ctx, e)); err != nil {
		return errors.Join(err, e.stop())
	}
	return errors.Join(last(e), e.stop())
}

// pairUsage is the event of pair n.
func pairUsage(n int) events.Event {
	e := usage(n, fmt.Sprintf("key-%08d", n), fmt.Sprintf("codex-%05d", n/pairsPerConnection))
	e.Model = "" // a model would be a pair of its own
	return e
}

func (r *runner) writePairs(ctx context.Context, w *world) (uint64, error) {
	p := publisher{js: w.js, subject: events.Consumption.Subject("")}
	var batch []events.Event
	for n := range r.pairs {
		batch = append(batch, pairUsage(n))
		if len(batch) < pairsInMessage && n < r.pairs-1 {
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
	e, took, err := r.answering(ctx, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.stop()) }()
	perPair := (liveHeap() - before) / float64(r.pairs)
	size := r.pairsText()
	return []Row{
		Row{Name: "start to first answer", Unit: "s", Ours: took.Seconds(), Note: size}.judged(atMost(5)),
		Row{Name: "live heap for a (connection, key) pair", Unit: "bytes", Ours: perPair, Note: size}.judged(atMost(1024)),
	}, nil
}

func (r *runner) pairsText() string { return fmt.Sprintf("%d pairs, 3 units each", r.pairs) }

// answering starts an engine, and returns how long it took until it had answered a
// question.
func (r *runner) answering(ctx context.Context, w *world) (*engine, time.Duration, error) {
	start := time.Now()
	e, err := r.startEngine(ctx, w)
	if err != nil {
		return nil, 0, err
	}
	if _, err := once(ctx, w.client, questions.Subject, []byte(question)); err != nil {
		return nil, 0, errors.Join(err, e.stop())
	}
	return e, time.Since(start), nil
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
