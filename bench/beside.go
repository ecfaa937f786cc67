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
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/quotashare/quotashare/questions"
)

// The load beside which answers are timed, and the questions.
const (
	besideEvents    = 50_000 // a second
	besideArray     = 500    // events in a message
	besideQuestions = 5_000  // a second
	besideTick      = time.Millisecond
)

// beside measures how long answers take while events come in and are folded,
// and how long echoes take while the same messages come in and are read by
// nobody who cares.
func beside(ctx context.Context, r *runner) (rows []Row, err error) {
	a, err := r.openArena(ctx, 0, []byte(question))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	if err := a.addStream(ctx, bareStream, bareSubject); err != nil {
		return nil, err
	}
	stop, err := a.readBare(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	p, err := newPaced(a.client)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	side := func(subject, events string) side {
		return func(ctx context.Context) (slice, error) { return r.loaded(ctx, a, p, subject, events) }
	}
	d, err := alternate(ctx, r.rounds, side(questions.Subject, "quota.consumption"), side(echoSubject, bareSubject))
	if err != nil {
		return nil, err
	}
	const name = "decide while 50,000 events/s are folded"
	rows = []Row{d.p50(name), d.p99(name).judged(ratioAtMost(1.5))}
	published := d.row(name, "events/s")
	for i := range rows {
		rows[i].Note = fmt.Sprintf("%d events/s published, %d requests/s", int(published.Ours), besideQuestions)
	}
	return rows, nil
}

// readBare reads the bare stream as it grows.
func (w *world) readBare(ctx context.Context) (stop func(), err error) {
	js, err := jetstream.New(w.served)
	if err != nil {
		return nil, err
	}
	consumer, err := js.OrderedConsumer(ctx, bareStream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, err
	}
	reading, err := consumer.Consume(func(jetstream.Msg) {})
	if err != nil {
		return nil, err
	}
	return func() {
		reading.Stop()
		<-reading.Closed()
	}, nil
}

// loaded times requests on one subject while events come in on another, and
// returns events per second.
func (r *runner) loaded(ctx context.Context, a *arena, p *paced, subject, eventSubject string) (slice, error) {
	g, gctx := errgroup.WithContext(ctx)
	events := publisher{js: a.js, subject: eventSubject}
	asked := make(chan struct{})
	published := 0
	m := startMeter()
	g.Go(func() (err error) {
		published, err = events.pace(gctx, asked)
		return err
	})
	var took []float64
	g.Go(func() (err error) {
		defer close(asked)
		took, err = p.ask(gctx, subject, a.body, r.besideFor)
		return err
	})
	if err := g.Wait(); err != nil {
		return slice{}, err
	}
	rate := m.rate(published).timed(took)
	seq, err := events.flush(ctx)
	if err == nil && eventSubject != bareSubject {
		err = a.engine.await(ctx, seq)
	}
	return rate, err
}

// pace publishes arrays at the rate of besideEvents until stop is closed, and
// returns the number of events.
func (p *publisher) pace(ctx context.Context, stop <-chan struct{}) (n int, err error) {
	bodies := arraysOf(besideArray)
	tick := time.NewTicker(time.Second * besideArray / besideEvents)
	defer tick.Stop()
	for {
		body := bodies[n/besideArray%len(bodies)]
		if err := p.send(body); err != nil {
			return n, err
		}
		n += besideArray
		select {
		case <-tick.C:
		case <-stop:
			return n, nil
		case <-ctx.Done():
			return n, ctx.Err()
		}
	}
}

// arraysOf are some messages of so many events, made before they are sent, because
// the publisher is no part of what is measured.
func arraysOf(events int) (bodies [16][]byte) {
	for i := range bodies {
		bodies[i] = logShape{perMessage: events}.array(i * events)
	}
	return bodies
}

// paced asks requests at a fixed rate, whatever the answers do: who waits for
// an answer before the next request does not see the requests that pile up.
type paced struct {
	conn   *nats.Conn
	sub    *nats.Subscription
	prefix string

	mu   sync.Mutex
	sent []time.Time // of request i
	took []float64   // milliseconds; 0 = no answer yet
	left atomic.Int64
	all  chan struct{}
}

func newPaced(conn *nats.Conn) (*paced, error) {
	p := &paced{conn: conn, prefix: nats.NewInbox() + ".", all: make(chan struct{}, 1)}
	var err error
	p.sub, err = conn.Subscribe(p.prefix+"*", p.answered)
	return p, err
}

func (p *paced) close() error { return p.sub.Unsubscribe() }

func (p *paced) answered(m *nats.Msg) {
	now := time.Now()
	i, _ := strconv.Atoi(m.Subject[len(p.prefix):])
	p.mu.Lock()
	p.took[i] = millis(now.Sub(p.sent[i]))
	p.mu.Unlock()
	if p.left.Add(-1) == 0 {
		p.all <- struct{}{}
	}
}

// ask returns how long each request took, in milliseconds.
func (p *paced) ask(ctx context.Context, subject string, body []byte, long time.Duration) ([]float64, error) {
	total := int(long.Seconds() * besideQuestions)
	p.sent, p.took = make([]time.Time, total), make([]float64, total)
	p.left.Store(int64(total))
	tick := time.NewTicker(besideTick)
	defer tick.Stop()
	start := time.Now()
	for i := 0; i < total; {
		due := min(total, int(time.Since(start).Seconds()*besideQuestions)+1)
		for ; i < due; i++ {
			p.mu.Lock()
			p.sent[i] = time.Now()
			p.mu.Unlock()
			if err := p.conn.PublishRequest(subject, p.prefix+strconv.Itoa(i), body); err != nil {
				return nil, err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case <-p.all:
		return p.took, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
