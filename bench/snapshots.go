package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/pebblestore"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
	"github.com/quotashare/quotashare/wire"
)

// snapshot measures how large a snapshot of very many (connection, key) pairs is, and
// how long it takes.
func snapshot(ctx context.Context, r *runner) (rows []Row, err error) {
	for _, s := range []struct {
		name string
		ids  bool
	}{{"without ids", false}, {"with ids", true}} {
		own, err := r.below(s.name)
		if err != nil {
			return rows, err
		}
		more, err := own.snapshotOf(ctx, "snapshot, "+s.name, s.ids)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (r *runner) snapshotOf(ctx context.Context, name string, ids bool) (rows []Row, err error) {
	store, err := pebblestore.Open(pebblestore.Options{Dir: r.stateDir(), Log: r.log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := r.fillPairs(store, ids); err != nil {
		return nil, err
	}
	sets := 0
	if err := store.Scan([]byte("c"), []byte("d"), func(_, _ []byte) error { sets++; return nil }); err != nil {
		return nil, err
	}
	start := time.Now()
	_, sum, err := projected.Save(ctx, snapdir.New(snapdir.Options{Dir: filepath.Join(r.dir, "snapshots"), Log: r.log}), store)
	if err != nil {
		return nil, err
	}
	took := time.Since(start)
	size := fmt.Sprintf("%s: %d counter sets, %.1f MB", r.pairsText(), sets, float64(sum.Bytes)/1e6)
	return []Row{
		Row{Name: name + ", a counter set", Unit: "bytes", Ours: float64(sum.Bytes) / float64(sets), Note: size}.judged(atMost(120)),
		{Name: name + ", to save", Unit: "s", Ours: took.Seconds(), Note: size},
	}, nil
}

// fillPairs folds an event for each pair into an empty store, and commits after each
// message. Without ids the events are not remembered one by one.
func (r *runner) fillPairs(store projector.Store, ids bool) error {
	state := projector.NewState(store)
	var run projector.Run
	var batch []events.Event
	for n := range r.pairs {
		e := pairUsage(n)
		if ids {
			e.ID = requestID(n)
		}
		batch = append(batch, e)
		if len(batch) < pairsInMessage && n < r.pairs-1 {
			continue
		}
		seq, _ := state.At()
		run.Reset()
		run.Add(events.Message{
			Subject: events.Consumption.Subject(""), Seq: seq + 1, Time: time.Now().UnixMilli(),
			Data: events.AppendArray(nil, wire.JSON, batch),
		})
		batch = batch[:0]
		if err := foldInto(store, state, &run); err != nil {
			return err
		}
	}
	return nil
}

func foldInto(store projector.Store, state *projector.State, run *projector.Run) error {
	if err := state.Apply(run); err != nil {
		return err
	}
	b := store.NewBatch()
	if err := errors.Join(state.Cut(b), store.Commit(b)); err != nil {
		return err
	}
	state.Committed()
	return nil
}

// startSnapshot measures a start with an empty store, of a log that has forgotten all
// that the snapshot knows, until the first answer.
func startSnapshot(ctx context.Context, r *runner) (rows []Row, err error) {
	own := *r
	own.snapshots = filepath.Join(r.dir, "snapshots")
	w, err := r.openWorld(ctx, relaxedSync)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := own.foldPairs(ctx, w, func(e *engine) error { return w.forget(ctx, e) }); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(own.stateDir()); err != nil {
		return nil, err
	}
	e, took, err := own.answering(ctx, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.stop()) }()
	s, err := e.State(ctx, 0, false)
	if err == nil && s.Counts.Folded < uint64(r.pairs) {
		err = fmt.Errorf("the state began without the snapshot: %d events are folded", s.Counts.Folded)
	}
	row := Row{Name: "start from a snapshot to first answer", Unit: "s", Ours: took.Seconds(), Note: r.pairsText()}
	return []Row{row.judged(atMost(5))}, err
}

// forget takes a snapshot, and deletes all that is before its message.
func (w *world) forget(ctx context.Context, e *engine) error {
	kept, err := e.Snapshot(ctx)
	if err != nil {
		return err
	}
	log, err := w.js.Stream(ctx, events.Stream)
	if err != nil {
		return err
	}
	return log.Purge(ctx, jetstream.WithPurgeSequence(kept.Seq))
}
