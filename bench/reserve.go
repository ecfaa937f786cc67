package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/questions"
)

// perUsage is the number of requests whose usage a gateway publishes together.
const perUsage = 500

// requester has requests from the question to the usage. Each is asked about, and
// its usage follows with its request id, which settles its hold if it has one, so
// that holds do not pile up. Usage follows whether there was a hold or not: it is
// no part of the price of one.
type requester struct {
	*arena
	asker *asker
	keys  [poolKeys]string
	asked atomic.Int64 // requests so far
	held  atomic.Int64 // those among them that reserved
}

func (r *runner) openRequester(ctx context.Context, sync time.Duration, inFlight int) (g *requester, err error) {
	g = new(requester)
	if g.arena, err = r.openArena(ctx, sync, []byte(question)); err != nil {
		return nil, err
	}
	for i := range g.keys {
		g.keys[i] = keyName(i)
	}
	if g.asker, err = newAsker(g.client, inFlight); err != nil {
		return nil, errors.Join(err, g.arena.close())
	}
	return g, nil
}

func (g *requester) close() error { return errors.Join(g.asker.close(), g.arena.close()) }

// request is one that was let pass.
type request struct {
	id, key string
}

// serve has requests for that long from as many goroutines as there are places to
// ask from, and returns requests per second and how long answers took. It is over
// when all their usage is folded, so that no slice works for another.
func (g *requester) serve(ctx context.Context, long time.Duration, reserve bool) (slice, error) {
	passed := make(chan request, perUsage)
	took := make([][]float64, len(g.asker.answers))
	group, gctx := errgroup.WithContext(ctx)
	n, seq := 0, uint64(0)
	m := startMeter()
	group.Go(func() (err error) {
		defer close(passed)
		n, err = crowd(gctx, len(took), long, func(ctx context.Context, i int) error {
			return g.pass(ctx, i, reserve, passed, &took[i])
		})
		return err
	})
	group.Go(func() (err error) {
		seq, err = g.publishUsage(gctx, passed)
		return err
	})
	if err := group.Wait(); err != nil {
		return slice{}, err
	}
	if err := g.engine.await(ctx, seq); err != nil {
		return slice{}, err
	}
	return m.rate(n).timed(slices.Concat(took...)), nil
}

// pass asks about one request and passes it on.
func (g *requester) pass(ctx context.Context, i int, reserve bool, passed chan<- request, took *[]float64) error {
	n := int(g.asked.Add(1))
	r := request{id: requestID(n), key: g.keys[n%poolKeys]}
	body := r.question(reserve)
	start := time.Now()
	answer, err := g.asker.request(ctx, i, questions.Subject, body)
	*took = append(*took, millis(time.Since(start)))
	if err != nil {
		return err
	}
	if reserve {
		g.held.Add(1)
	}
	if !bytes.Contains(answer, []byte(`"decision":"allow"`)) || bytes.Contains(answer, []byte(`"degraded"`)) {
		return fmt.Errorf("the question %s was answered with %s", body, answer)
	}
	select {
	case passed <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// question is the same with a hold and without. It waits long, because an answer
// that gave up waiting would be a fast one.
func (r *request) question(reserve bool) []byte {
	return fmt.Appendf(nil,
		`{"apiKeyId":"%s","connectionId":"%s","requestId":"%s","estimate":{"requests":1,"tokens":1800},"reserve":%t,"maxWaitMs":10000}`,
		r.key, connection, r.id, reserve)
}

// publishUsage publishes the usage of the requests and returns the sequence of the
// last message.
func (g *requester) publishUsage(ctx context.Context, passed <-chan request) (uint64, error) {
	p := publisher{js: g.js, subject: "quota.consumption"}
	batch := make([]events.Event, 0, perUsage)
	for r := range passed {
		e := usage(len(batch), r.key, connection)
		e.ID, e.RequestID = r.id, r.id
		if batch = append(batch, e); len(batch) < perUsage {
			continue
		}
		if err := p.publish(batch); err != nil {
			return 0, err
		}
		batch = batch[:0]
	}
	if len(batch) > 0 {
		if err := p.publish(batch); err != nil {
			return 0, err
		}
	}
	return p.flush(ctx)
}

// reserveWith measures questions that reserve, with so many goroutines, beside the
// same questions without, and beside what a hold cannot do without: its bytes in
// the log, in arrays of what was waiting.
func reserveWith(inFlight int) func(context.Context, *runner) ([]Row, error) {
	return func(ctx context.Context, r *runner) ([]Row, error) {
		return r.withEachSync(ctx, func(r *runner, ctx context.Context, sync time.Duration) ([]Row, error) {
			return r.reserved(ctx, sync, inFlight)
		})
	}
}

func (r *runner) reserved(ctx context.Context, sync time.Duration, inFlight int) (rows []Row, err error) {
	g, err := r.openRequester(ctx, sync, inFlight)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	bare, err := g.openBareHolds(ctx, inFlight)
	if err != nil {
		return nil, err
	}
	serve := func(reserve bool) side {
		return func(ctx context.Context) (slice, error) { return g.serve(ctx, r.slice, reserve) }
	}
	sides := []side{
		serve(true),
		serve(false),
		func(ctx context.Context) (slice, error) { return bare.write(ctx, r.slice) },
	}
	alone := inFlight == 1 && sync == 0
	if alone {
		sides = append(sides, func(ctx context.Context) (slice, error) { return r.fsyncs(ctx, bare.hold) })
	}
	all, err := turns(ctx, r.rounds, sides...)
	if err != nil {
		return nil, err
	}
	perMessage, err := g.settled(ctx)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("reserve, %d in flight, %s", inFlight, syncText(sync))
	rows = append(besideDecide(all, name, target(inFlight, sync)), besideLog(all, name)...)
	rows[0].Note = fmt.Sprintf("usage of both in arrays of %d", perUsage)
	rows[3].Note = fmt.Sprintf("%.1f holds a message, bare %.1f", perMessage, bare.perMessage())
	if alone {
		d := duel{ours: all[0], bare: all[3]}
		rows = append(rows, d.p50(name+", beside an fsync").judged(ratioAtMost(3)))
	}
	return rows, nil
}

// target is what reserving should reach of the rate without, nil when there is no
// target.
func target(inFlight int, sync time.Duration) *Target {
	switch {
	case inFlight != 256:
		return nil
	case sync == 0:
		return ratioAtLeast(0.3)
	}
	return ratioAtLeast(0.7)
}

func besideDecide(all [][]slice, name string, t *Target) []Row {
	d := duel{ours: all[0], bare: all[1]}
	name += ", beside decide"
	row := d.row(name, "requests/s")
	if t != nil {
		row = row.judged(t)
	}
	return []Row{row, d.p50(name), d.p99(name)}
}

func besideLog(all [][]slice, name string) []Row {
	d := duel{ours: all[0], bare: all[2]}
	name += ", beside bare arrays"
	return []Row{d.row(name, "requests/s"), d.p50(name), d.p99(name)}
}

// settled returns how many holds the engine wrote in a message, and an error when
// one is still open.
func (g *requester) settled(ctx context.Context) (perMessage float64, err error) {
	answer, err := once(ctx, g.client, questions.Subject, []byte(`{"apiKeyId":"key-0017","connectionId":"codex-main","explain":true}`))
	if err != nil {
		return 0, err
	}
	if bytes.Count(answer, []byte(`"heldTotal":0,`)) != len(dimensions()) {
		return 0, fmt.Errorf("not every hold is settled: %s", answer)
	}
	stream, err := g.js.Stream(ctx, events.Stream)
	if err != nil {
		return 0, err
	}
	subject := events.Hold.Subject("")
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		return 0, err
	}
	return float64(g.held.Load()) / float64(info.State.Subjects[subject]), nil
}
