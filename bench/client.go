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

// asker has goroutines that ask one request after the other, all over one
// subscription: nothing in the client is slower than it must be, so what is
// compared is the other side.
type asker struct {
	conn    *nats.Conn
	sub     *nats.Subscription
	prefix  string
	answers []chan int // size of the answer
}

func newAsker(conn *nats.Conn, inFlight int) (*asker, error) {
	a := &asker{conn: conn, prefix: nats.NewInbox() + ".", answers: make([]chan int, inFlight)}
	for i := range a.answers {
		a.answers[i] = make(chan int, 1)
	}
	var err error
	a.sub, err = conn.Subscribe(a.prefix+"*", func(m *nats.Msg) {
		i, _ := strconv.Atoi(m.Subject[len(a.prefix):])
		a.answers[i] <- len(m.Data)
	})
	return a, err
}

func (a *asker) close() error { return a.sub.Unsubscribe() }

// ask asks for that long and returns requests per second.
func (a *asker) ask(ctx context.Context, subject string, body []byte, long time.Duration) (slice, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var stop atomic.Bool
	defer time.AfterFunc(long, func() { stop.Store(true) }).Stop()
	var total atomic.Int64
	var group sync.WaitGroup
	m := startMeter()
	for i := range a.answers {
		group.Go(func() {
			n, err := a.loop(ctx, &stop, i, subject, body)
			total.Add(int64(n))
			if err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return m.rate(int(total.Load())), context.Cause(ctx)
}

func (a *asker) loop(ctx context.Context, stop *atomic.Bool, i int, subject string, body []byte) (n int, err error) {
	inbox := a.prefix + strconv.Itoa(i)
	for ; !stop.Load(); n++ {
		if err := a.conn.PublishRequest(subject, inbox, body); err != nil {
			return n, err
		}
		select {
		case size := <-a.answers[i]:
			if size == 0 {
				return n, errNoAnswer
			}
		case <-ctx.Done():
			return n, ctx.Err()
		}
	}
	return n, nil
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
