package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bucket is the key-value bucket, Stream the stream that it is, and Key the entry of
// the work that deciders share.
const (
	Bucket = "QUOTA_LEASES"
	Stream = "KV_" + Bucket
	Key    = "shared"
)

// ErrNotHeld says that another process has the lease, or nobody.
var ErrNotHeld = errors.New("this process does not have the lease")

// Options say whose lease it is.
type Options struct {
	Conn *nats.Conn
	Name string // of this process, for people
	// Term is how long a holder is believed to live without a word; 0 = 30 s.
	Term time.Duration
	// Replicas is asked how many copies the bucket has when it must be made; nil =
	// one.
	Replicas func(context.Context) (int, error)
	// OnChange is called when the lease is gained or lost, from Run's goroutine or
	// Confirm's; nil = nobody is told.
	OnChange func(held bool)
	Log      *slog.Logger // nil = nobody
}

const defaultTerm = 30 * time.Second

// Lease is one process's part in it. Its methods may be called from any goroutine.
type Lease struct {
	o   Options
	js  jetstream.JetStream
	id  string               // of this process; its name may be another's too
	now func() time.Duration // since the process started, whatever the clock says

	mu       sync.Mutex // over one exchange with the broker
	kv       jetstream.KeyValue
	revision uint64        // of the entry as this process wrote it; 0 = it is not its own
	seen     uint64        // revision of another's entry
	since    time.Duration // when that was seen first
	trouble  bool          // the broker's refusal was said

	believe sync.Mutex // over what Held reads, which waits for no broker
	held    bool
	until   time.Duration
	holder  string
}

// entry is what the broker keeps.
type entry struct {
	ID     string `json:"id"` // "" when it was given back
	Name   string `json:"name"`
	TermMs int64  `json:"termMs"`
}

// New returns a lease that nobody asks for until Run.
func New(o Options) (*Lease, error) {
	js, err := jetstream.New(o.Conn)
	if err != nil {
		return nil, fmt.Errorf("lease: %w", err)
	}
	if o.Term == 0 {
		o.Term = defaultTerm
	}
	if o.Replicas == nil {
		o.Replicas = func(context.Context) (int, error) { return 1, nil }
	}
	if o.OnChange == nil {
		o.OnChange = func(bool) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	started := time.Now()
	return &Lease{o: o, js: js, id: rand.Text(), now: func() time.Duration { return time.Since(started) }}, nil
}

// Held reports whether this process may believe that it has the lease. It asks
// nobody.
func (l *Lease) Held() bool {
	l.believe.Lock()
	defer l.believe.Unlock()
	return l.held && l.now() < l.until
}

// Holder returns the name of who had the lease when it was last seen, "" for nobody.
func (l *Lease) Holder() string {
	l.believe.Lock()
	defer l.believe.Unlock()
	return l.holder
}

// Confirm writes the entry anew, for who is about to do what others must not do
// meanwhile. The error wraps ErrNotHeld when somebody else has the lease, and is the
// broker's when it does not answer.
func (l *Lease) Confirm(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.revision == 0 {
		return ErrNotHeld
	}
	return l.renew(ctx)
}

// Run asks for the lease and keeps it until the context ends, and then gives it
// back. It returns the context's error.
func (l *Lease) Run(ctx context.Context) error {
	tick := time.NewTicker(l.o.Term / 3)
	defer tick.Stop()
	for {
		l.turn(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			l.giveBack(context.WithoutCancel(ctx))
			return ctx.Err()
		}
	}
}

// turn is one attempt to get or to keep the lease. What the broker refuses is said
// once, until it takes it again.
func (l *Lease) turn(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.attempt(ctx)
	if err == nil || errors.Is(err, ErrNotHeld) {
		l.trouble = false
		return
	}
	if ctx.Err() == nil && !l.trouble {
		l.trouble = true
		l.o.Log.Warn("no lease for the work that is shared: snapshots in the broker and the purge of the log wait; trying again", "err", err)
	}
}

func (l *Lease) attempt(ctx context.Context) error {
	if l.revision != 0 {
		err := l.renew(ctx)
		if !errors.Is(err, ErrNotHeld) {
			return err
		}
	}
	return l.campaign(ctx)
}
