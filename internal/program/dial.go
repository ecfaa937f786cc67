package program

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/config"
)

// redialWait is how long a server that does not answer is left alone.
const redialWait = time.Second

// A server that says nothing is given up after maxPings pings without an answer and one
// interval more, 9 s, for another node of its cluster. One whose machine is gone, or stands
// still, closes no connection; by the library's defaults it would be waited for for 6
// minutes. Ours give up clients within the same time.
const (
	pingInterval = 3 * time.Second
	maxPings     = 2
)

// Dial connects to the log and waits until it answers, however long that takes:
// a program that gave up and began a log of its own would fork it. Every failed
// try is logged. The connection reconnects for ever. It ends early only when
// ctx does, or when the server refuses who we are.
func Dial(ctx context.Context, to Broker, name string, log *slog.Logger) (*nats.Conn, error) {
	conn, connected, err := Dialing(to, name, log)
	if err != nil {
		return nil, err
	}
	if err := connected(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// Dialing is Dial for who has something to do until the log answers; connected waits
// for that, and may be called once.
func Dialing(to Broker, name string, log *slog.Logger) (conn *nats.Conn, connected func(context.Context) error, err error) {
	opened := make(chan struct{}, 1)
	closed := make(chan error, 1)
	shown := WithoutSecrets(to.URL)
	opts, err := to.Options()
	if err != nil {
		return nil, nil, err
	}
	refused, anew := to.refused(log)
	opts = append(opts,
		nats.ErrorHandler(refused), nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(redialWait), nats.RetryOnFailedConnect(true),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(maxPings),
		nats.ConnectHandler(func(nc *nats.Conn) { goesOn(nc); opened <- struct{}{} }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			log.Warn("the log does not answer; trying again", "url", shown, "every", redialWait, "err", err)
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil when we closed it
				log.Warn("the connection to the log is lost; trying again", "url", shown, "err", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			anew()
			log.Info("the log answers again", "url", nc.ConnectedUrlRedacted())
		}),
		nats.ClosedHandler(func(nc *nats.Conn) { closed <- nc.LastError() }),
	)
	if conn, err = nats.Connect(to.URL, opts...); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", shown, err)
	}
	return conn, func(ctx context.Context) error {
		select {
		case <-opened:
			return nil
		case err := <-closed:
			return fmt.Errorf("%s: the server refuses us: %w", shown, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}, nil
}

// goesOn makes a connection that was let in once try for ever, whatever is said later: a
// password that is being changed is new at one node and old at the next, and a file that
// is put right must not need a restart. Until then two refusals of one server end it, so
// that who has a wrong one learns of it at the start. The library has one option for both.
func goesOn(nc *nats.Conn) {
	nc.Opts.IgnoreAuthErrorAbort = true
	_ = nc.LastError() // takes the lock under which the option is read
}

// WithoutSecrets is a list of URLs as it may be shown.
func WithoutSecrets(urls string) string { return config.WithoutSecrets(urls) }
