package decider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/httpapi"
)

const (
	// answerRetry is the wait after the broker did not let us answer: somebody may give
	// the login the right to.
	answerRetry = 2 * time.Second
	// toldWithin bounds the wait for what the broker says to that.
	toldWithin = time.Second
)

// beginAnswering opens the door for questions over NATS. A broker says only afterwards that a login may not,
// and a decider that nobody can ask is not ready.
func (e *Engine) beginAnswering(ctx context.Context) error {
	for {
		before := e.o.Conn.LastError()
		if err := e.server.Start(); err != nil {
			return fmt.Errorf("answering over NATS: %w", err)
		}
		// Who is not connected is told when it is again.
		_ = e.o.Conn.FlushTimeout(toldWithin)
		if after := e.o.Conn.LastError(); after == before || !refusesQuestions(after) {
			return nil
		}
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		err := e.server.Stop(stop)
		cancel()
		if err != nil {
			return err
		}
		select {
		case <-time.After(answerRetry):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func refusesQuestions(err error) bool {
	return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `Subscription to "quota.`)
}

// notLetIn is the error of a login without the rights of a decider; nil = it has them, as
// far as the broker said.
func (e *Engine) notLetIn() error {
	err := e.o.Conn.LastError()
	if e.Ready() || !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	return httpapi.Refuse(httpapi.ErrUnavailable,
		"the broker does not let %s read the log or answer questions (%v): give this decider the login of a user of the role decider, from quotashare nats-config",
		e.login(), err)
}

func (e *Engine) login() string {
	if e.o.Login == "" {
		return "this decider"
	}
	return "the login " + e.o.Login
}
