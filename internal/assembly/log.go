package assembly

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/ingest/intake"
	"github.com/quotashare/quotashare/internal/program"
)

// logOf is the log of a running process.
type logOf struct {
	conn   *nats.Conn
	server *ingest.Server // nil when somebody else runs it
	alone  bool           // that server has all of it: the log is never away
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
	return r.openOwn(ctx)
}

// openOwn starts a server. One that is alone has the streams at once; one of a cluster
// waits for other nodes, and what only takes events does so meanwhile.
func (r *run) openOwn(ctx context.Context) (*logOf, error) {
	server, err := r.startServer()
	if err != nil {
		return nil, err
	}
	own := program.Broker{URL: server.ClientURL(), More: server.ClientOptions()}
	conn, err := program.Dial(ctx, own, r.parts.Name, r.log)
	if err != nil {
		return nil, errors.Join(err, server.Shutdown())
	}
	l := &logOf{conn: conn, server: server, alone: r.cfg.ClusterName == ""}
	l.reach = func(ctx context.Context) error { return r.prepare(ctx, l) }
	if l.alone || r.parts.Decides {
		return l.reached(ctx)
	}
	return l, nil
}

// other is somebody else's log, and who we have to be there.
func (r *run) other() program.Broker {
	b := program.Broker{URL: r.cfg.StoreNATSURL, User: r.cfg.StoreNATSUser, CA: r.cfg.NATSCA, Role: "decider"}
	if r.parts.OwnsLog {
		b.Role = "ingest"
	}
	if r.parts.OwnsLog && r.parts.Decides {
		b.Role = "admin"
	}
	return b
}

// openOther connects to a log of somebody else's. A program that only takes events does so
// while the log is away, too, and finds the streams later.
func (r *run) openOther(ctx context.Context) (*logOf, error) {
	other := r.other()
	conn, connected, err := program.Dialing(other, r.parts.Name, r.log)
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

// reached waits for the log, as long as nothing is fatal to it.
func (l *logOf) reached(ctx context.Context) (*logOf, error) {
	g, gctx := errgroup.WithContext(ctx)
	done, stop := context.WithCancel(gctx)
	g.Go(func() error { return watch(done, l.failed()) })
	g.Go(func() error {
		defer stop()
		return l.reach(gctx)
	})
	if err := g.Wait(); err != nil {
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
		url, driver := config.Variable("store-nats-url"), config.Variable("store-driver")
		r.log.Warn("driver nats has no URL, so this program keeps a log of its own, which nobody else reads: " +
			"set " + url + " to where the server is, or leave " + driver + " out if this is what you want")
	}
	return false, nil
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
		switch {
		case d.Upgraded:
			r.log.Info("a stream of an earlier version or setting is changed", "stream", d.Stream, "setting", d.Field, "was", d.Have, "is", d.Want)
			continue
		case d.Cost != "":
			args = append(args, "cost", d.Cost)
		}
		r.log.Warn("a stream has other settings than ours; left as it is", args...)
	}
	return nil
}

// ensure makes the streams. A cluster may have no leader for some seconds, and somebody
// else's broker may have its troubles; a server of our own that is alone has no excuse.
func (r *run) ensure(ctx context.Context, l *logOf, js jetstream.JetStream) ([]ingest.Difference, error) {
	want := ingest.Configs(int(r.cfg.ConsumptionRetentionDays), r.cfg.Replicas)
	for {
		try, cancel := context.WithTimeout(ctx, ensureWithin)
		before := l.conn.LastError()
		diff, err := ingest.EnsureStreams(try, js, want)
		cancel()
		err = unlessRefused(err, before, l.conn.LastError())
		if err == nil || l.alone || ctx.Err() != nil {
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

// unlessRefused is an error, or why there was no answer: a broker that does not let us ask
// says so beside, and answers nothing.
func unlessRefused(err, before, said error) error {
	if errors.Is(err, context.DeadlineExceeded) && said != before && errors.Is(said, nats.ErrPermissionViolation) {
		return said
	}
	return err
}

// ensureWait is how long a log that does not make streams is left alone, and ensureWithin
// how long it may take over all of them: a question to a cluster without a leader is never
// answered, and what it goes on to make after that is there at the next try.
const (
	ensureWait   = 2 * time.Second
	ensureWithin = 5 * time.Second
)

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
