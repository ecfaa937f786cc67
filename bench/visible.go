package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/questions"
)

// bareStream takes messages that nobody folds.
const (
	bareStream  = "BENCH_BARE"
	bareSubject = "bench.bare"
)

// visible measures the time from publishing an event until an answer includes
// it, beside that of a publication and its acknowledgement alone.
func visible(ctx context.Context, r *runner) ([]Row, error) {
	return r.withEachSync(ctx, (*runner).visibleWith)
}

func (r *runner) visibleWith(ctx context.Context, sync time.Duration) (rows []Row, err error) {
	a, err := r.openArena(ctx, sync, []byte(question))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	if err := a.addStream(ctx, bareStream, bareSubject); err != nil {
		return nil, err
	}
	var seen, acked []float64
	side := func(into *[]float64, publish func(context.Context, []byte) error) side {
		return func(ctx context.Context) (slice, error) { return r.publishSome(ctx, into, publish) }
	}
	_, err = alternate(ctx, r.rounds, side(&seen, a.publishAndSee), side(&acked, a.publishBare))
	if err != nil {
		return nil, err
	}
	return visibleRows(seen, acked, sync), nil
}

func visibleRows(seen, acked []float64, sync time.Duration) []Row {
	row := func(q float64, name string) Row {
		ours, bare := quantile(seen, q), quantile(acked, q)
		return Row{Name: "publish to visible, " + syncText(sync) + ", " + name, Unit: "ms", Ours: ours, Bare: bare, Ratio: ours / bare}
	}
	return []Row{row(0.5, "p50").judged(atMost(5)), row(0.99, "p99")}
}

// publishSome publishes a few events, one after the other, and keeps how long each
// took.
func (r *runner) publishSome(ctx context.Context, into *[]float64, publish func(context.Context, []byte) error) (slice, error) {
	for n := range r.publishes {
		e := usage(n, keyName(n%poolKeys), connection)
		body := events.AppendJSON(nil, &e)
		start := time.Now()
		if err := publish(ctx, body); err != nil {
			return slice{}, err
		}
		*into = append(*into, millis(time.Since(start)))
	}
	return slice{}, nil
}

// publishAndSee publishes an event and asks a question that needs it.
func (a *arena) publishAndSee(ctx context.Context, body []byte) error {
	ack, err := a.js.Publish(ctx, "quota.consumption", body)
	if err != nil {
		return err
	}
	ask := fmt.Sprintf(`{"apiKeyId":"key-0017","connectionId":"codex-main","minSeq":%d,"maxWaitMs":10000}`, ack.Sequence)
	answer, err := once(ctx, a.client, questions.Subject, []byte(ask))
	if err != nil {
		return err
	}
	if applied := a.engine.Applied(); applied < ack.Sequence {
		return fmt.Errorf("event %d is not in the answer %s, folded is %d", ack.Sequence, answer, applied)
	}
	return nil
}

func (a *arena) publishBare(ctx context.Context, body []byte) error {
	_, err := a.js.Publish(ctx, bareSubject, body)
	return err
}
