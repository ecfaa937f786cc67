package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// world is an embedded broker with its streams, and connections for the two
// sides of it.
type world struct {
	server *ingest.Server
	client *nats.Conn // of those who publish and ask
	served *nats.Conn // of those who fold and answer
	js     jetstream.JetStream
}

// relaxedSync is the interval of fsyncs where durability is not measured.
const relaxedSync = 100 * time.Millisecond

// openWorld starts a broker below the runner's directory. sync 0 = an fsync for
// each message.
func (r *runner) openWorld(ctx context.Context, sync time.Duration) (w *world, err error) {
	w = new(world)
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	w.server, err = ingest.Start(ingest.Options{Dir: filepath.Join(r.dir, "log"), Addr: "127.0.0.1:0", Sync: sync, Logger: r.log})
	if err != nil {
		return w, err
	}
	if w.client, err = nats.Connect(w.server.ClientURL()); err != nil {
		return w, err
	}
	if w.served, err = nats.Connect(w.server.ClientURL()); err != nil {
		return w, err
	}
	if w.js, err = jetstream.New(w.client); err != nil {
		return w, err
	}
	_, err = ingest.EnsureStreams(ctx, w.js, ingest.Configs(retentionDays, 1))
	return w, err
}

// withEachSync measures with an fsync for each message, and with one now and
// then, each time in a directory of its own.
func (r *runner) withEachSync(ctx context.Context, measure func(*runner, context.Context, time.Duration) ([]Row, error)) ([]Row, error) {
	var rows []Row
	for _, sync := range []time.Duration{0, relaxedSync} {
		own, err := r.below("sync-" + sync.String())
		if err != nil {
			return rows, err
		}
		more, err := measure(own, ctx, sync)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func syncText(sync time.Duration) string {
	if sync == 0 {
		return "fsync always"
	}
	return "fsync every " + sync.String()
}

const retentionDays = 14

func (w *world) close() error {
	for _, nc := range []*nats.Conn{w.client, w.served} {
		if nc != nil {
			nc.Close()
		}
	}
	if w.server == nil {
		return nil
	}
	return w.server.Shutdown()
}

// addStream makes a stream with the settings of the log, for the subjects.
func (w *world) addStream(ctx context.Context, name string, subjects ...string) error {
	cfg := ingest.Configs(retentionDays, 1)[0]
	cfg.Name, cfg.Subjects = name, subjects
	_, err := w.js.CreateStream(ctx, cfg)
	return err
}

// engine is a decider that runs.
type engine struct {
	*decider.Engine
	cancel context.CancelFunc
	done   chan error
}

func (r *runner) stateDir() string { return filepath.Join(r.dir, "state") }

// startEngine returns when the engine answers.
func (r *runner) startEngine(ctx context.Context, w *world) (*engine, error) {
	e, err := decider.New(decider.Options{
		Conn: w.served, Dir: r.stateDir(), SnapshotDir: r.snapshots, SnapshotKeep: 1, Version: "0.0.0", Log: r.log,
	})
	if err != nil {
		return nil, err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	started := &engine{Engine: e, cancel: cancel, done: make(chan error, 1)}
	go func() { started.done <- e.Run(run) }()
	if err := e.AwaitReady(ctx); err != nil {
		return nil, errors.Join(err, started.stop())
	}
	return started, nil
}

func (e *engine) stop() error {
	e.cancel()
	return <-e.done
}

// await returns when the sequence is folded.
func (e *engine) await(ctx context.Context, seq uint64) error {
	_, err := e.State(ctx, seq, false)
	return err
}

// The pool that questions are about: twenty keys share one connection with two
// dimensions. It has room for everybody, so every answer is to allow.
const (
	poolID     = "bench"
	connection = "codex-main"
	poolKeys   = 20
)

func dimensions() []plans.Dimension {
	return []plans.Dimension{
		{Unit: quota.Tokens, Window: quota.FiveHour, Limit: 1_000_000_000_000_000},
		{Unit: quota.Requests, Window: quota.Hourly, Limit: 1_000_000_000_000},
	}
}

// poolOf is a pool of one connection that so many keys share alike.
func poolOf(id, connectionID string, keys int) *plans.Pool {
	p := &plans.Pool{
		ID: id, Name: id, Provider: "codex", Reserve: 100,
		Connections: []plans.Connection{{ConnectionID: connectionID, Weight: 100}},
	}
	for i := range keys {
		p.Allocations = append(p.Allocations, plans.Allocation{APIKeyID: keyName(i), Weight: 100 * quota.RatioOne / quota.Ratio(keys)})
	}
	return p
}

func keyName(i int) string { return fmt.Sprintf("key-%04d", i) }

// furnish puts the pool into force, and some usage of every key.
func (w *world) furnish(ctx context.Context, e *engine) error {
	if _, err := e.PutPlan(ctx, connection, dimensions(), httpapi.Meta{}); err != nil {
		return err
	}
	pool := poolOf(poolID, connection, poolKeys)
	put := func(*plans.Pool) (*plans.Pool, error) { return pool, nil }
	if _, err := e.ChangePool(ctx, pool.ID, put, httpapi.Meta{}); err != nil {
		return err
	}
	var used []events.Event
	for i := range poolKeys {
		used = append(used, usage(i, keyName(i), connection))
	}
	ack, err := w.js.Publish(ctx, "quota.consumption", events.AppendArray(nil, wire.JSON, used))
	if err != nil {
		return err
	}
	return e.await(ctx, ack.Sequence)
}
