package client

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/ingest/natsusers/login"
)

// transport is the way to the engine and the log. Both methods return within the
// time of their context, and may be called by many at once.
type transport interface {
	// ask sends a message of questions to a subject and returns the answer's body.
	ask(ctx context.Context, subject string, body []byte) ([]byte, error)
	// store writes a message of events and returns when the log has it. id names
	// the message, and what has been stored under it is not stored again.
	store(ctx context.Context, subject, id string, body []byte) error
	// room is how many bytes a body may have.
	room() int
	// connected reports whether there is a connection now.
	connected() bool
	close()
}

// Errors of a transport that mean something to its callers.
var (
	errDisconnected = errors.New("there is no connection")
	errUnsent       = fmt.Errorf("%w, and nothing was sent", errDisconnected)
	errNoResponders = errors.New("no engine listens")
	errTooLarge     = errors.New("the message is too large for the log")
)

const (
	// headersOf is room for the headers of a message, which count for max_payload.
	headersOf = 256
	// defaultRoom is the broker's default, until it has told its own.
	defaultRoom = 1 << 20
	// tooLargeForStream is the broker's code for a message larger than the stream
	// takes.
	tooLargeForStream = 10054
)

// overNATS is the transport over NATS. The library holds its lock while it dials and
// while it writes to a broker that reads nothing, for seconds; so nothing that has a
// deadline asks it anything.
type overNATS struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	own    bool
	status chan nats.Status
	up     atomic.Bool
	most   atomic.Int64 // bytes of a message
	ended  chan struct{}
}

func newOverNATS(o *Options) (*overNATS, error) {
	t := &overNATS{nc: o.Conn}
	if t.nc == nil {
		opts, err := connectOptions(o)
		if err != nil {
			return nil, err
		}
		nc, err := nats.Connect(o.URL, opts...)
		if err != nil {
			return nil, fmt.Errorf("url: %w", err)
		}
		t.nc, t.own = nc, true
		if !nc.IsConnected() {
			// Why is known at the next try: this one tells nothing.
			o.Logger.Warn("there is no connection to the quota engine's broker yet; trying again", "brokers", hosts(o.URL))
		}
	}
	var err error
	if t.js, err = jetstream.New(t.nc); err != nil {
		if t.own {
			t.nc.Close()
		}
		return nil, err
	}
	t.watch()
	return t, nil
}

// watch keeps what is asked often at hand.
func (t *overNATS) watch() {
	t.status, t.ended = t.nc.StatusChanged(), make(chan struct{})
	t.note(t.nc.IsConnected())
	go func() {
		defer close(t.ended)
		for s := range t.status {
			t.note(s == nats.CONNECTED)
		}
	}()
}

func (t *overNATS) note(up bool) {
	t.up.Store(up)
	if n := t.nc.MaxPayload(); up && n > 0 {
		t.most.Store(n)
	}
}

// connectOptions is for a gateway, which has to start and to go on whatever becomes
// of the engine: it connects when it can, for ever, and even after it was refused,
// because a key that is put right must not need a restart of all gateways.
func connectOptions(o *Options) ([]nats.Option, error) {
	said := newSaid(o.Logger)
	opts := []nats.Option{
		nats.Name(o.Name), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(reconnectWait), nats.Timeout(reconnectWait), nats.PingInterval(pingEvery), nats.FlusherTimeout(reconnectWait),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil when we closed it
				o.Logger.Warn("the connection to the quota engine is lost; trying again", "err", err)
			}
		}),
		nats.ConnectHandler(func(nc *nats.Conn) {
			o.Logger.Info("connected to the quota engine", "broker", nc.ConnectedAddr())
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			o.Logger.Info("connected to the quota engine again", "broker", nc.ConnectedAddr())
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			said.unreached(err)
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrAuthorization) {
				said.unreached(err)
				return
			}
			said.warn("broker", "the quota engine's broker refuses something", err)
		}),
	}
	if o.Token != "" {
		opts = append(opts, nats.Token(o.Token))
	}
	if o.User != "" {
		user, err := login.From(o.User)
		if err != nil {
			return nil, fmt.Errorf("options.User: %w", err)
		}
		opts = append(opts, user...)
	}
	if o.CA != "" {
		opts = append(opts, nats.RootCAs(o.CA)) // a file that is none is an error of Connect
	}
	if o.Credentials != "" {
		opts = append(opts, nats.UserCredentials(o.Credentials))
	}
	if o.InboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(o.InboxPrefix))
	}
	return opts, nil
}

const (
	// reconnectWait is how long a server that does not answer is left alone.
	reconnectWait = time.Second
	// pingEvery makes a connection whose other end vanished without a word known for
	// lost after three times that. Until then each question costs its time-out; with
	// the library's two minutes that would be for six.
	pingEvery = 5 * time.Second
)

// ask sends nothing while there is no connection: nats.go would keep the question
// and send it when nobody waits for it any more, and it would hold what its request
// has long used.
//
// It does not wait for the library beyond its time. A question that is stuck there may
// be sent when nobody waits for it any more, as one whose answer was lost.
func (t *overNATS) ask(ctx context.Context, subject string, body []byte) ([]byte, error) {
	if !t.connected() {
		return nil, errUnsent
	}
	type answer struct {
		m   *nats.Msg
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		m, err := t.nc.RequestWithContext(ctx, subject, body)
		answers <- answer{m, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil {
			return nil, known(a.err)
		}
		return a.m.Data, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *overNATS) store(ctx context.Context, subject, id string, body []byte) error {
	if !t.connected() {
		return errDisconnected
	}
	m := nats.NewMsg(subject)
	m.Data = body
	m.Header.Set(events.HeaderContentType, "application/json")
	m.Header.Set(events.HeaderMsgID, id)
	_, err := t.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	return known(err)
}

func (t *overNATS) room() int {
	if n := int(t.most.Load()); n > 0 {
		return n - headersOf
	}
	return defaultRoom - headersOf
}

func (t *overNATS) connected() bool { return t.up.Load() }

func (t *overNATS) close() {
	if t.own {
		t.nc.Close()
	}
	t.nc.RemoveStatusListener(t.status)
	<-t.ended
}

// known tells the errors of nats.go that mean something to us.
func known(err error) error {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return errNoResponders
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrReconnectBufExceeded):
		return errDisconnected
	case errors.Is(err, nats.ErrMaxPayload), errors.As(err, &api) && api.ErrorCode == tooLargeForStream:
		return errTooLarge
	}
	return err
}
