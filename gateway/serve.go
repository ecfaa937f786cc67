package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout = 10 * time.Second
	// readTimeout is how long a request's body may take to come. It is none for the
	// answer: the server takes it back when all of the body is there.
	readTimeout = 5 * time.Minute
	idleTimeout = 2 * time.Minute
	maxHeader   = 256 << 10 // bytes of all headers of one request

	// cutWithin is how long calls have that were cut, to be charged.
	cutWithin = 2 * time.Second
)

// errStopping is why a call is cut that lasts longer than stopping may.
var errStopping = errors.New("the gateway stops")

// Serve answers on l until ctx ends. Calls in progress then have until drain is over;
// those that are left are cut, and charged as such. It returns when all are over, so
// that the client can be closed; the error is of l, or says that some are not.
func (g *Gateway) Serve(ctx context.Context, l net.Listener, drain time.Duration) error {
	calls, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	s := &http.Server{
		Handler:           g,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       g.readWithin,
		IdleTimeout:       idleTimeout, // no time is set for an answer: a stream may take long
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return calls },
		ErrorLog:          slog.NewLogLogger(g.log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("http: %w", err)
	case <-ctx.Done():
	}
	err := g.stop(ctx, s, drain, cut)
	<-ended
	if t, ok := g.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
	return err
}

func (g *Gateway) stop(ctx context.Context, s *http.Server, drain time.Duration, cut context.CancelCauseFunc) error {
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err := s.Shutdown(patient)
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	g.log.Warn("calls are still in progress; they are cut", "after", drain)
	cut(errStopping)
	hasty, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutWithin)
	defer cancel()
	return errors.Join(s.Shutdown(hasty), g.wait(hasty), s.Close())
}
