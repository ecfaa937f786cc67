package objects

import (
	"errors"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/snapshots"
)

// A broker that has no more room, in the whole or in this bucket, keeps what it has,
// and nothing of what did not fit: what is listed comes back.
func TestNoRoom(t *testing.T) {
	bounded := brokertest.Start(t).URL()
	for name, url := range map[string]string{"of the server": smallBroker(t, 1<<20, 0), "of the bucket": bounded} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, url)
			if url == bounded {
				_, err := b.js.CreateObjectStore(b.ctx(), jetstream.ObjectStoreConfig{Bucket: Bucket, MaxBytes: 1 << 20})
				b.must(err)
			}
			b.put(1, 2*pieceSize)
			b.save(2, 12*pieceSize)
			for range 2 {
				_, err := b.Put(b.ctx(), b.from, 2)
				var refused *jetstream.APIError
				if !errors.As(err, &refused) {
					t.Errorf("put: %v, want what the broker says", err)
				}
				if got := b.listed(); !slices.Equal(got, []uint64{1}) {
					t.Errorf("listed %d", got)
				}
				if n := b.messages(); n != 4 {
					t.Errorf("%d messages, want those of the first", n)
				}
			}
			b.put(3, 2*pieceSize)
			_, err := b.Newest(b.ctx(), b.into, anyOne)
			b.must(err)
		})
	}
}

// A server that takes little at once gets small pieces.
func TestSmallMessages(t *testing.T) {
	b := newBench(t, smallBroker(t, 0, 8<<10))
	b.put(1, 100<<10)
	if n := b.messages(); n < 26 {
		t.Errorf("%d messages, want pieces of 4 KiB at most", n)
	}
	_, err := b.Fetch(b.ctx(), 1, b.into)
	b.must(err)
}

// A broker that does not answer is no reason to begin from something older.
func TestABrokerThatIsGone(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	b.put(1, 10)
	b.o.Conn.Close()
	for name, err := range map[string]error{
		"newest": second(b.Newest(b.ctx(), b.into, anyOne)),
		"fetch":  second(b.Fetch(b.ctx(), 1, b.into)),
		"list":   second(b.List(b.ctx())),
		"put":    second(b.Put(b.ctx(), b.from, 1)),
		"remove": b.Remove(b.ctx(), 1),
		"sweep":  b.Sweep(b.ctx()),
	} {
		if err == nil || errors.Is(err, ErrNone) || errors.Is(err, snapshots.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
