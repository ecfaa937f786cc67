package assembly

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/ingest/intake"
	"github.com/quotashare/quotashare/internal/program"
)

// logOf is the log of a running process.
type logOf struct {
	conn   *nats.Conn
	server *ingest.Server // nil when somebody else runs it
	intake *intake.Intake // nil before events are taken
	// reach waits until the log answers and has its streams; nil = it does.
	reach func(context.Context) error
}

// openLog starts the embedded server or connects to one of somebody else's.
func (r *run) openLog(ctx context.Context) (*logOf, error) {
	external, err := r.external()
	if err != nil {
		return nil, err
	}
	if external {
		return r.openOther(ctx)
	}
	server, err := r.startServer()
	if err != nil {
		return nil, err
	}
	conn, err := program.Dial(ctx, server.ClientURL(), r.parts.Name, r.natsToken(), r.log)
	if err != nil {
		return nil, errors.Join(err, server.Shutdown())
	}
	l := &logOf{conn: conn, server: server}
	if err := r.prepare(ctx, l); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// openOther connects to a log of somebody else's. A program that only takes events does so
// while the log is away, too, and finds the streams later.
func (r *run) openOther(ctx context.Context) (*logOf, error) {
	conn, connected, err := program.Dialing(r.cfg.StoreNATSURL, r.parts.Name, "", r.log)
	if err != nil {
		return nil, err
	}
	l := &logOf{conn: conn}
	l.reach = func(ctx context.Context) error {
		if err := connected(ctx); err != nil {
			return err
		}
		return r.prepare(ctx, l)
	}
	if !r.parts.Decides {
		return l, nil
	}
	return l.reached(ctx)
}

// reached waits for the log.
func (l *logOf) reached(ctx context.Context) (*logOf, error) {
	if err := l.reach(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	l.reach = nil
	return l, nil
}

// external decides whose the log is. A program that owns none must be told
// where it is: a decider that began one of its own would answer from a log that
// nobody writes to.
func (r *run) external() (bool, error) {
	switch {
	case r.cfg.StoreDriver == config.NATS && r.cfg.StoreNATSURL != "":
		return true, nil
	case !r.parts.OwnsLog:
		return false, config.Faults{{
			Flag: "store-nats-url", Problem: "is needed: " + r.parts.Name + " has no log of its own; start quotashare up to have both in one",
		}}
	case r.cfg.StoreDriver == config.NATS:
		r.log.Warn("driver nats has no URL; using the embedded server", "set", config.Variable("store-nats-url"))
	}
	return false, nil
}

// natsToken is what clients of the embedded server must present. On loopback
// they need none, as over HTTP they need none there without a token.
func (r *run) natsToken() string {
	if r.natsLoopback() {
		return ""
	}
	return r.cfg.APIToken
}

func (r *run) startServer() (*ingest.Server, error) {
	server, err := ingest.Start(ingest.Options{
		Dir: filepath.Join(r.cfg.DataDir, "nats"), Addr: r.cfg.NATSAddr, Sync: r.cfg.Sync, Token: r.natsToken(), Logger: r.log,
	})
	switch {
	case errors.Is(err, ingest.ErrAddrInUse):
		return nil, program.Hint(err, "another server listens there; stop it, or set %s to another address", config.Variable("nats-addr"))
	case errors.Is(err, ingest.ErrDirInUse):
		return nil, program.Hint(err, "another quotashare uses this directory; stop it, or set %s", config.Variable("data-dir"))
	}
	return server, err
}

// prepare makes the streams, if they are ours to make.
func (r *run) prepare(ctx context.Context, l *logOf) error {
	if !r.parts.OwnsLog {
		return nil
	}
	js, err := jetstream.New(l.conn)
	if err != nil {
		return err
	}
	diff, err := r.ensure(ctx, l, js)
	if err != nil {
		return fmt.Errorf("the log: %w", err)
	}
	for _, d := range diff {
		args := []any{"stream", d.Stream, "setting", d.Field, "is", d.Have, "ours", d.Want}
		if d.Cost != "" {
			args = append(args, "cost", d.Cost)
		}
		r.log.Warn("a stream has other settings than ours; left as it is", args...)
	}
	return nil
}

// ensure makes the streams. A cluster may have no leader for some seconds, and somebody
// else's broker may have its troubles; our own has no excuse.
func (r *run) ensure(ctx context.Context, l *logOf, js jetstream.JetStream) ([]ingest.Difference, error) {
	for {
		diff, err := ingest.EnsureStreams(ctx, js, ingest.Configs(int(r.cfg.ConsumptionRetentionDays), 1))
		if err == nil || l.server != nil || ctx.Err() != nil {
			return diff, err
		}
		r.log.Warn("the streams of the log cannot be made; trying again", "every", ensureWait, "err", err)
		select {
		case <-time.After(ensureWait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ensureWait is how long a log that does not make streams is left alone.
const ensureWait = 2 * time.Second

// failed delivers what ends an embedded server; never, for somebody else's.
func (l *logOf) failed() <-chan error {
	if l.server == nil {
		return nil
	}
	return l.server.Failed()
}

// close lets its own server first take everything this process has asked of it, which
// Shutdown then waits for.
func (l *logOf) close() (err error) {
	if l.intake != nil {
		err = l.intake.Close()
	}
	if l.server == nil {
		l.conn.Close()
		return err
	}
	_ = l.conn.FlushTimeout(flushWithin) // a server that does not answer is shut down all the same
	l.conn.Close()
	return errors.Join(err, l.server.Shutdown())
}

// flushWithin bounds the wait for a server that answers no more.
const flushWithin = 2 * time.Second
