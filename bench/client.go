package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// errNoAnswer says that nobody answers, or with nothing.
var errNoAnswer = errors.New("a request was answered with nothing")

// crowd has n goroutines do the same over and over for that long, each at least
// once, and returns how often it was done.
func crowd(ctx context.Context, n int, long time.Duration, do func(ctx context.Context, i int) error) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var stop atomic.Bool
	defer time.AfterFunc(long, func() { stop.Store(true) }).Stop()
	var total atomic.Int64
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			done := int64(0)
			for more := true; more; more = !stop.Load() {
				if err := do(ctx, i); err != nil {
					cancel(err)
					break
				}
				done++
			}
			total.Add(done)
		})
	}
	group.Wait()
	return int(total.Load()), context.Cause(ctx)
}

// asker has places from which one request after the other is asked, all over one
// subscription: nothing in the client is slower than it must be, so what is
// compared is the other side.
type asker struct {
	conn    *nats.Conn
	sub     *nats.Subscription
	inboxes []string
	answers []chan []byte
}

func newAsker(conn *nats.Conn, inFlight int) (*asker, error) {
	a := &asker{conn: conn, inboxes: make([]string, inFlight), answers: make([]chan []byte, inFlight)}
	prefix := conn.NewInbox() + "."
	for i := range a.answers {
		a.inboxes[i], a.answers[i] = prefix+strconv.Itoa(i), make(chan []byte, 1)
	}
	var err error
	a.sub, err = conn.Subscribe(prefix+"*", func(m *nats.Msg) {
		i, _ := strconv.Atoi(m.Subject[len(prefix):])
		a.answers[i] <- m.Data
	})
	return a, err
}

func (a *asker) close() error { return a.sub.Unsubscribe() }

// ask asks from all places for that long and returns requests per second.
func (a *asker) ask(ctx context.Context, subject string, body []byte, long time.Duration) (slice, error) {
	m := startMeter()
	n, err := crowd(ctx, len(a.answers), long, func(ctx context.Context, i int) error {
		_, err := a.request(ctx, i, subject, body)
		return err
	})
	return m.rate(n), err
}

// request asks from place i and returns the answer.
func (a *asker) request(ctx context.Context, i int, subject string, body []byte) ([]byte, error) {
	if err := a.conn.PublishRequest(subject, a.inboxes[i], body); err != nil {
		return nil, err
	}
	select {
	case answer := <-a.answers[i]:
		if len(answer) == 0 {
			return nil, errNoAnswer
		}
		return answer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stream asks from one goroutine that never waits while fewer than inFlight
// requests are on their way.
func stream(ctx context.Context, conn *nats.Conn, inFlight int, subject string, body []byte, long time.Duration) (slice, error) {
	room := make(chan struct{}, inFlight)
	empty := false
	inbox := nats.NewInbox()
	sub, err := conn.Subscribe(inbox, func(m *nats.Msg) {
		empty = empty || len(m.Data) == 0
		<-room
	})
	if err != nil {
		return slice{}, err
	}
	n, m := 0, startMeter()
	for ; time.Since(m.start) < long; n++ {
		room <- struct{}{}
		if err := conn.PublishRequest(subject, inbox, body); err != nil {
			return slice{}, err
		}
	}
	for range inFlight { // until the last answer is there
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return slice{}, ctx.Err()
		}
	}
	s := m.rate(n)
	if empty {
		err = errNoAnswer
	}
	return s, errors.Join(err, sub.Unsubscribe())
}

// echo answers every request on the subject with the body, by the least code
// there is.
func echo(conn *nats.Conn, subject string, body []byte) (*nats.Subscription, error) {
	sub, err := conn.Subscribe(subject, func(m *nats.Msg) { _ = conn.Publish(m.Reply, body) })
	return sub, errors.Join(err, conn.Flush())
}

// once asks one request and returns the answer, which must not be an error.
func once(ctx context.Context, conn *nats.Conn, subject string, body []byte) ([]byte, error) {
	m, err := conn.RequestWithContext(ctx, subject, body)
	if err != nil {
		return nil, err
	}
	if text := m.Header.Get("Nats-Service-Error"); text != "" {
		return nil, fmt.Errorf("%s: %s", subject, text)
	}
	return m.Data, nil
}
