package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quotashare/quotashare/questions"
)

const echoSubject = "bench.echo"

// question is what a gateway asks before a call.
const question = `{"apiKeyId":"key-0017","connectionId":"codex-main","estimate":{"requests":1,"tokens":1800}}`

// arena has what decisions and echoes are compared in: an engine with a pool,
// and an echo with answers of the same size.
type arena struct {
	*world
	engine *engine
	body   []byte
}

// openArena is for questions with this body.
func (r *runner) openArena(ctx context.Context, sync time.Duration, body []byte) (a *arena, err error) {
	a = &arena{body: body}
	if a.world, err = r.openWorld(ctx, sync); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if a.engine, err = r.startEngine(ctx, a.world); err != nil {
		return a, err
	}
	if err := a.furnish(ctx, a.engine); err != nil {
		return a, err
	}
	answer, err := once(ctx, a.client, questions.Subject, body)
	if err != nil {
		return a, err
	}
	if !bytes.Contains(answer, []byte(`"reason":"ok"`)) {
		return a, fmt.Errorf("the question was answered with %s", answer)
	}
	_, err = echo(a.served, echoSubject, answer)
	return a, err
}

func (a *arena) close() error {
	var err error
	if a.engine != nil {
		err = a.engine.stop()
	}
	return errors.Join(err, a.world.close())
}

// duel runs ask with the subject of either side.
func (a *arena) duel(ctx context.Context, rounds int, ask func(ctx context.Context, subject string) (slice, error)) (duel, error) {
	on := func(subject string) side {
		return func(ctx context.Context) (slice, error) { return ask(ctx, subject) }
	}
	return alternate(ctx, rounds, on(questions.Subject), on(echoSubject))
}

// decideWith measures questions with so many goroutines, each of which waits
// for its answer.
func decideWith(inFlight int) func(context.Context, *runner) ([]Row, error) {
	return func(ctx context.Context, r *runner) ([]Row, error) {
		d, err := r.askers(ctx, []byte(question), inFlight)
		if err != nil {
			return nil, err
		}
		row := d.row(fmt.Sprintf("decide, %d in flight", inFlight), "requests/s")
		if inFlight == 256 {
			row = row.judged(ratioAtLeast(0.9))
		}
		return []Row{row}, nil
	}
}

func (r *runner) askers(ctx context.Context, body []byte, inFlight int) (d duel, err error) {
	a, err := r.openArena(ctx, relaxedSync, body)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	asker, err := newAsker(a.client, inFlight)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, asker.close()) }()
	return a.duel(ctx, r.rounds, func(ctx context.Context, subject string) (slice, error) {
		return asker.ask(ctx, subject, body, r.slice)
	})
}

// pipelined measures questions of one goroutine that does not wait.
func pipelined(ctx context.Context, r *runner) (rows []Row, err error) {
	a, err := r.openArena(ctx, relaxedSync, []byte(question))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	d, err := a.duel(ctx, r.rounds, func(ctx context.Context, subject string) (slice, error) {
		return stream(ctx, a.client, 256, subject, a.body, r.slice)
	})
	if err != nil {
		return nil, err
	}
	return []Row{d.row("decide, pipelined client, 256 in flight", "requests/s").judged(ratioAtLeast(0.8))}, nil
}

// perArray is the number of questions in a message.
const perArray = 100

// arrays measures messages of many questions.
func arrays(ctx context.Context, r *runner) ([]Row, error) {
	body := []byte("[" + question)
	for range perArray - 1 {
		body = append(body, ","+question...)
	}
	d, err := r.askers(ctx, append(body, ']'), 16)
	if err != nil {
		return nil, err
	}
	for _, side := range [][]slice{d.ours, d.bare} {
		for i := range side {
			side[i].value *= perArray
			side[i].cpu /= perArray
		}
	}
	return []Row{d.row("decide, arrays of 100, 16 in flight", "decisions/s").judged(atLeast(500_000))}, nil
}
