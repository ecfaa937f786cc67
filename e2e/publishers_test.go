package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// publishers send events without end and each again, under the same id, until
// it is acknowledged.
type publishers struct {
	t      *testing.T
	stop   context.CancelFunc
	done   sync.WaitGroup
	ticket chan struct{} // one for each acknowledgement, as far as anybody takes them

	mu    sync.Mutex
	acked []usage
	last  uint64 // highest sequence acknowledged
}

const numPublishers = 4

// ackWithin is how long a publisher waits before it sends the same again. An
// acknowledgement that is lost with the server costs that much.
const ackWithin = 500 * time.Millisecond

func startPublishers(t *testing.T, url string, d *rand.Rand) *publishers {
	t.Helper()
	p := &publishers{t: t, ticket: make(chan struct{})}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	t.Cleanup(func() { p.stop(); p.done.Wait() })
	for i := range numPublishers {
		nc := brokertest.Connect(t, url)
		own := rand.New(rand.NewPCG(d.Uint64(), 0))
		p.done.Go(func() { p.publish(ctx, nc, own, fmt.Sprintf("publisher-%d-", i)) })
	}
	return p
}

// publish sends arrays and single events in turn. What has begun when ctx ends
// is brought to its end.
func (p *publishers) publish(ctx context.Context, nc *nats.Conn, d *rand.Rand, prefix string) {
	var sent [][]usage
	for n := 0; ctx.Err() == nil; n++ {
		size := 1
		if n%2 == 1 {
			size = 1 + d.IntN(20)
		}
		list := traffic(d, fmt.Sprintf("%s%d-", prefix, n), size)
		sent = append(sent, list)
		seq, err := p.untilAcked(nc, encode(p.t, list))
		if err == nil && n%8 == 7 {
			// Something old once more, as a gateway does that lost its memory; the
			// engine may have been killed since it was folded.
			seq, err = p.untilAcked(nc, encode(p.t, sent[d.IntN(len(sent))]))
		}
		if err == nil && n%16 == 0 {
			_, err = p.untilAcked(nc, []byte(prefix+"is no event"))
		}
		if err != nil {
			p.t.Errorf("%s%d: %v", prefix, n, err)
			return
		}
		p.mu.Lock()
		p.acked = append(p.acked, list...)
		p.last = max(p.last, seq)
		p.mu.Unlock()
		select {
		case p.ticket <- struct{}{}:
		default:
		}
	}
}

func (p *publishers) untilAcked(nc *nats.Conn, data []byte) (uint64, error) {
	for end := time.Now().Add(patience); ; {
		m, err := nc.Request("quota.consumption", data, ackWithin)
		switch {
		case err == nil:
			return sequence(p.t, string(m.Data)), nil
		case time.Now().After(end):
			return 0, err
		}
	}
}

// await returns after n further acknowledgements.
func (p *publishers) await(n int) {
	p.t.Helper()
	ctx := deadline(p.t)
	for range n {
		select {
		case <-p.ticket:
		case <-ctx.Done():
			p.t.Fatal("nothing is acknowledged any more")
		}
	}
}

// finish stops them and returns everything that was acknowledged, which is
// everything that was sent, and the last sequence.
func (p *publishers) finish() ([]usage, uint64) {
	p.stop()
	p.done.Wait()
	return p.acked, p.last
}
