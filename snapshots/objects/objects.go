package objects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/snapshots"
)

// ErrNone says that the bucket has no snapshot that can be used.
var ErrNone = errors.New("the broker has no snapshot that can be used")

// Options say where the bucket is.
type Options struct {
	Conn *nats.Conn
	// Replicas is asked how many copies the bucket has when it must be made; nil =
	// one.
	Replicas func(context.Context) (int, error)
	Log      *slog.Logger // is told of each object that cannot be used, once; nil = nobody
	MaxBytes uint64       // of an object that is fetched; 0 = 16 GiB
	// Step, when set, is called before each step that changes the bucket. Tests end
	// the process there.
	Step func(name string)
}

const maxBytes = 16 << 30

// How long is waited for the broker's answer to one request, and the age from which
// pieces without a name are nobody's any more. An upload that takes half of it is
// given up, so none that goes on is swept from under its writer, whose pieces are
// young besides: the age is that of the newest.
const (
	answerWithin = 10 * time.Second
	abandoned    = time.Hour
	storeWithin  = abandoned / 2
)

// Store is the bucket. Its methods may be called from any goroutine.
type Store struct {
	o         Options
	js        jetstream.JetStream
	abandoned time.Duration

	mu   sync.Mutex
	said map[string]bool // ids of objects whose fault was said
}

// Object is a snapshot in the bucket.
type Object struct {
	Header snapshots.Header // as it was when it was stored
	Size   uint64           // bytes
	Stored time.Time        // by the broker's clock
	// Order is greater for what was stored later, whatever any clock says.
	Order uint64
}

// New returns the bucket and touches nothing.
func New(o Options) (*Store, error) {
	js, err := jetstream.New(o.Conn)
	if err != nil {
		return nil, fmt.Errorf("snapshots in the broker: %w", err)
	}
	if o.Replicas == nil {
		o.Replicas = func(context.Context) (int, error) { return 1, nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = maxBytes
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	return &Store{o: o, js: js, abandoned: abandoned, said: make(map[string]bool)}, nil
}

// look returns the bucket's stream, or nil when there is no bucket.
func (s *Store) look(ctx context.Context) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	stream, err := s.js.Stream(ctx, Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	return stream, wrap("look for the bucket", err)
}

// open makes the bucket if there is none. It looks first: a broker near its storage
// limit refuses to create even what exists.
func (s *Store) open(ctx context.Context) (jetstream.Stream, error) {
	stream, err := s.look(ctx)
	if stream != nil || err != nil {
		return stream, err
	}
	replicas, err := s.o.Replicas(ctx)
	if err != nil {
		return nil, wrap("copies of the bucket", err)
	}
	s.o.Step("make the bucket")
	making, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	_, err = s.js.CreateObjectStore(making, jetstream.ObjectStoreConfig{
		Bucket: Bucket, Description: "quotashare: snapshots of the state", Replicas: replicas,
	})
	if err != nil && !errors.Is(err, jetstream.ErrBucketExists) { // somebody was faster
		return nil, wrap("make the bucket", err)
	}
	return s.look(ctx)
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("snapshots in the broker: %s: %w", doing, err)
}
