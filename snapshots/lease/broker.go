package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// How long an answer is waited for: less than a third of a term, so that an answer
// that does not come costs no turn. The end waits less, as the process does.
const (
	answerWithin = 5 * time.Second
	backWithin   = time.Second
)

func (l *Lease) answerWithin() time.Duration { return min(answerWithin, l.o.Term/4) }

// bucket finds the bucket, and makes it if there is none. It looks first: a broker
// near its storage limit refuses to create even what exists.
func (l *Lease) bucket(ctx context.Context) error {
	if l.kv != nil {
		return nil
	}
	kv, err := l.js.KeyValue(ctx, Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = l.create(ctx)
	}
	if err != nil {
		return fmt.Errorf("bucket %s: %w", Bucket, err)
	}
	l.kv = kv
	return nil
}

func (l *Lease) create(ctx context.Context) (jetstream.KeyValue, error) {
	replicas, err := l.o.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	kv, err := l.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: Bucket, Description: "quotashare: who does the work that deciders share", Replicas: replicas,
	})
	if errors.Is(err, jetstream.ErrBucketExists) { // somebody was faster
		kv, err = l.js.KeyValue(ctx, Bucket)
	}
	return kv, err
}

// write replaces a revision of the entry, 0 for none. The error wraps ErrNotHeld
// when the entry has another revision.
func (l *Lease) write(ctx context.Context, e entry, replaces uint64) (uint64, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	var revision uint64
	if replaces == 0 {
		revision, err = l.kv.Create(ctx, Key, data)
	} else {
		revision, err = l.kv.Update(ctx, Key, data, replaces)
	}
	switch {
	case errors.Is(err, jetstream.ErrKeyExists):
		return 0, fmt.Errorf("%w: %w", ErrNotHeld, err)
	case err != nil:
		l.kv = nil // it may be gone, and is looked for again
		return 0, fmt.Errorf("bucket %s: %w", Bucket, err)
	}
	return revision, nil
}

func (l *Lease) mine() entry { return entry{ID: l.id, Name: l.o.Name, TermMs: l.o.Term.Milliseconds()} }

// renew writes the entry over this process's own. A write whose answer was lost is
// found by campaign, which knows its own name.
func (l *Lease) renew(ctx context.Context) error { return l.take(ctx, l.revision) }

// take writes this process's name over a revision. The term counts from before the
// broker was asked: whoever sees the entry sees it later.
func (l *Lease) take(ctx context.Context, replaces uint64) error {
	ctx, cancel := context.WithTimeout(ctx, l.answerWithin())
	defer cancel()
	asked := l.now()
	if err := l.bucket(ctx); err != nil {
		return err
	}
	revision, err := l.write(ctx, l.mine(), replaces)
	if errors.Is(err, ErrNotHeld) && l.lose() {
		l.o.Log.Info("another process does the work that deciders share")
	}
	if err != nil {
		return err
	}
	l.revision = revision
	l.gain(asked + l.o.Term)
	return nil
}

// campaign takes the lease if nobody has it, or its holder was silent for a term.
func (l *Lease) campaign(ctx context.Context) error {
	revision, e, err := l.read(ctx)
	if err != nil {
		return err
	}
	l.note(e.Name)
	if revision == 0 || e.ID == "" || e.ID == l.id {
		return l.take(ctx, revision)
	}
	if revision != l.seen {
		l.seen, l.since = revision, l.now()
	}
	if l.now()-l.since < term(e, l.o.Term) {
		return ErrNotHeld
	}
	return l.take(ctx, revision)
}

// read returns the entry, and revision 0 when there is none. One that cannot be read
// is of a holder without a name: it is replaced when it was not for a term.
func (l *Lease) read(ctx context.Context) (uint64, entry, error) {
	ctx, cancel := context.WithTimeout(ctx, l.answerWithin())
	defer cancel()
	if err := l.bucket(ctx); err != nil {
		return 0, entry{}, err
	}
	found, err := l.kv.Get(ctx, Key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, entry{}, nil
	}
	if err != nil {
		l.kv = nil
		return 0, entry{}, fmt.Errorf("bucket %s: %w", Bucket, err)
	}
	var e entry
	if json.Unmarshal(found.Value(), &e) != nil {
		e = entry{ID: "?"}
	}
	return found.Revision(), e, nil
}

// longest is the longest term of another's that is believed: one that is written
// wrong must not keep the lease for ever.
const longest = time.Hour

func term(e entry, own time.Duration) time.Duration {
	if e.TermMs <= 0 || e.TermMs > longest.Milliseconds() {
		return own
	}
	return time.Duration(e.TermMs) * time.Millisecond
}

func (l *Lease) note(holder string) {
	l.believe.Lock()
	defer l.believe.Unlock()
	l.holder = holder
}

func (l *Lease) gain(until time.Duration) {
	l.note(l.o.Name)
	if l.change(true, until) {
		l.o.Log.Info("this process does the work that deciders share: snapshots in the broker and the purge of the log")
	}
}

// lose reports whether the lease was held.
func (l *Lease) lose() bool {
	l.revision = 0
	return l.change(false, 0)
}

// change reports whether it is one.
func (l *Lease) change(held bool, until time.Duration) bool {
	l.believe.Lock()
	changed := l.held != held
	l.held, l.until = held, until
	l.believe.Unlock()
	if changed {
		l.o.OnChange(held)
	}
	return changed
}

// giveBack lets the next one have the lease at once.
func (l *Lease) giveBack(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.revision == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, min(backWithin, l.answerWithin()))
	defer cancel()
	if l.bucket(ctx) == nil {
		_, _ = l.write(ctx, entry{TermMs: l.o.Term.Milliseconds()}, l.revision) // else its term ends
	}
	l.lose()
}
