package bench

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quotashare/quotashare/events"
)

// bareHolds writes the bytes of holds to a stream that nobody folds, for callers
// that wait for the acknowledgement of their own. They are grouped like the
// engine's: one message is under way, and what waits meanwhile is the next one.
type bareHolds struct {
	*requester
	hold     []byte // as the engine writes it
	waiting  chan int
	acked    []chan struct{}
	holds    atomic.Int64
	messages atomic.Int64
}

// openBareHolds takes the bytes from a hold that the engine wrote.
func (g *requester) openBareHolds(ctx context.Context, inFlight int) (*bareHolds, error) {
	if err := g.addStream(ctx, bareStream, bareSubject); err != nil {
		return nil, err
	}
	hold, err := g.writtenHold(ctx)
	if err != nil {
		return nil, err
	}
	b := &bareHolds{requester: g, hold: hold, acked: make([]chan struct{}, inFlight)}
	for i := range b.acked {
		b.acked[i] = make(chan struct{}, 1)
	}
	return b, nil
}

// writtenHold has one request and returns the bytes of its hold in the log.
func (g *requester) writtenHold(ctx context.Context) ([]byte, error) {
	if _, err := g.serve(ctx, 0, true); err != nil {
		return nil, err
	}
	stream, err := g.js.Stream(ctx, events.Stream)
	if err != nil {
		return nil, err
	}
	m, err := stream.GetLastMsgForSubject(ctx, events.Hold.Subject(""))
	if err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(m.Data, &list); err != nil {
		return nil, err
	}
	return list[0], nil
}

// write has all places write holds for that long and returns holds per second and
// how long acknowledgements took.
func (b *bareHolds) write(ctx context.Context, long time.Duration) (slice, error) {
	b.waiting = make(chan int, len(b.acked))
	took := make([][]float64, len(b.acked))
	group, gctx := errgroup.WithContext(ctx)
	n := 0
	m := startMeter()
	group.Go(func() error { return b.publish(gctx) })
	group.Go(func() (err error) {
		defer close(b.waiting)
		n, err = crowd(gctx, len(took), long, func(ctx context.Context, i int) error {
			return b.one(ctx, i, &took[i])
		})
		return err
	})
	err := group.Wait()
	b.holds.Add(int64(n))
	return m.rate(n).timed(slices.Concat(took...)), err
}

// one writes a hold from place i.
func (b *bareHolds) one(ctx context.Context, i int, took *[]float64) error {
	start := time.Now()
	b.waiting <- i // there is room for every place
	select {
	case <-b.acked[i]:
		*took = append(*took, millis(time.Since(start)))
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// publish publishes what is waiting, one message after the other.
func (b *bareHolds) publish(ctx context.Context) error {
	var group []int
	var body []byte
	for {
		group = b.next(ctx, group[:0])
		if len(group) == 0 {
			return ctx.Err()
		}
		body = append(body[:0], '[')
		for range group {
			body = append(append(body, b.hold...), ',')
		}
		body[len(body)-1] = ']'
		if err := b.publishBare(ctx, body); err != nil {
			return err
		}
		b.messages.Add(1)
		for _, i := range group {
			b.acked[i] <- struct{}{}
		}
	}
}

// next waits for one place and takes the others that wait too; none at the end.
func (b *bareHolds) next(ctx context.Context, group []int) []int {
	select {
	case i, ok := <-b.waiting:
		if !ok {
			return nil
		}
		group = append(group, i)
	case <-ctx.Done():
		return nil
	}
	for len(group) < events.MaxEvents {
		select {
		case i, ok := <-b.waiting:
			if !ok {
				return group
			}
			group = append(group, i)
		default:
			return group
		}
	}
	return group
}

func (b *bareHolds) perMessage() float64 { return float64(b.holds.Load()) / float64(b.messages.Load()) }

// fsyncs appends these bytes to a file and waits for the disk each time.
func (r *runner) fsyncs(ctx context.Context, small []byte) (s slice, err error) {
	f, err := os.OpenFile(filepath.Join(r.dir, "appended"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var took []float64
	m := startMeter()
	for more := true; more; more = time.Since(m.start) < r.slice {
		start := time.Now()
		if _, err := f.Write(small); err != nil {
			return s, err
		}
		if err := f.Sync(); err != nil {
			return s, err
		}
		took = append(took, millis(time.Since(start)))
	}
	return m.rate(len(took)).timed(took), ctx.Err()
}
