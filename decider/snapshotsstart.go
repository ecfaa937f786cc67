package decider

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// errOvertaken says that the log has forgotten what comes after a store's position,
// and that there is a snapshot from further on.
var errOvertaken = errors.New("the log no longer has what follows the store, and a newer snapshot has it")

// load returns the state that a store has. An empty store is filled from the newest
// snapshot that fits first; when there is none, the log is folded from its start. A
// store that has a part of a snapshot is corrupt, and that is no fault of the snapshot.
func (k *snapshotKeeper) load(ctx context.Context, store projector.Store) (*projector.State, error) {
	pos, _, ok, err := projector.PositionOf(store)
	if err != nil {
		return nil, err
	}
	if k.dir != nil {
		k.sortOut(ctx)
	}
	if ok && k.overtaken(ctx, pos) {
		return nil, errOvertaken
	}
	state, err := projector.Load(store)
	if ok || err != nil {
		return state, err
	}
	if restored, err := k.restore(ctx, store); restored != nil || err != nil {
		return restored, err
	}
	return state, nil
}

// restore fills the store, and returns nil when no snapshot fits. One that does not
// become a state is not tried again.
func (k *snapshotKeeper) restore(ctx context.Context, store projector.Store) (*projector.State, error) {
	s, err := k.open(ctx, 0)
	if s == nil {
		return nil, err
	}
	defer s.Close() // it was only read
	h, began := s.Header(), time.Now()
	state, err := k.fill(ctx, store, s)
	if err == nil {
		k.refused.begin(h)
		k.e.o.Log.Info("the state begins from a snapshot", "seq", h.Seq, "took", time.Since(began))
		return state, nil
	}
	if errors.Is(err, projector.ErrCorrupt) || errors.Is(err, snapshots.ErrDamaged) {
		k.refused.add(h)
		k.e.o.Log.Warn("a snapshot did not become a state; an older one takes its place", "seq", h.Seq, "err", err)
		err = fmt.Errorf("%w: %w", projector.ErrCorrupt, err) // what is in the store now
	}
	return nil, err
}

// fill writes the records and loads them. The digest is what they were saved under,
// and finds a program that reads the same records as something else.
func (k *snapshotKeeper) fill(ctx context.Context, store projector.Store, from *snapdir.Snapshot) (*projector.State, error) {
	if k.e.o.Step != nil {
		store = steppedStore{store, k.e.step}
	}
	if err := projected.Restore(ctx, store, from); err != nil {
		return nil, err
	}
	state, err := projector.Load(store)
	if err != nil {
		return nil, err
	}
	digest, err := state.Digest()
	if want := from.Header().Digest; err == nil && digest != want {
		err = fmt.Errorf("%w: its digest is %x, and was %x", projector.ErrCorrupt, digest, want)
	}
	return state, err
}

// open returns the newest snapshot later than a sequence that fits, nil when there
// is none: of those here, and of those that deciders share only when none of them fits
// or the log no longer has what follows it. What cannot be read is no reason to stay
// away: all of it is in the log.
func (k *snapshotKeeper) open(ctx context.Context, after uint64) (*snapdir.Snapshot, error) {
	fits := func(h snapshots.Header) bool {
		return h.Seq > after && projected.Fits(h) && !k.refused.has(h) && k.inLog(ctx, projected.PositionIn(&h)) != otherLog
	}
	if k.dir == nil {
		return nil, nil
	}
	s, err := k.dir.Newest(fits)
	if k.shared != nil && (err == nil || errors.Is(err, snapdir.ErrNone)) {
		s, err = k.orShared(ctx, s, fits)
	}
	if err == nil || ctx.Err() != nil {
		return s, ctx.Err()
	}
	if !errors.Is(err, snapdir.ErrNone) {
		k.e.o.Log.Error("cannot read the snapshots; the state begins without", "dir", k.e.o.SnapshotDir, "err", err)
	}
	return nil, nil
}

// overtaken reports whether a store should be given up for a snapshot, because the
// log may have forgotten what comes between its position and its own start.
func (k *snapshotKeeper) overtaken(ctx context.Context, pos projector.Position) bool {
	if k.inLog(ctx, pos) != forgotten {
		return false
	}
	s, err := k.open(ctx, pos.Seq)
	if s == nil || err != nil {
		return false
	}
	return s.Close() == nil
}

// standing is how the log stands to a position.
type standing uint8

const (
	unknown   standing = iota // it does not answer, so the reader of the log will say
	present                   // it has the same message there
	forgotten                 // it no longer has it, and may
	otherLog                  // it has another message there, or none though it should
)

// lookWithin bounds the look at a message of the log. The reader of the log looks
// again before anything is folded on, so nothing depends on an answer.
const lookWithin = 2 * time.Second

// inLog looks whether the log has the message of a position. A stream that lets
// replicas answer is not asked: theirs may be behind, and their headers are others.
func (k *snapshotKeeper) inLog(ctx context.Context, pos projector.Position) standing {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	stream, err := k.e.js.Stream(ctx, events.Stream)
	if err != nil || stream.CachedInfo().Config.AllowDirect {
		return unknown
	}
	if stream.CachedInfo().State.LastSeq < pos.Seq {
		return otherLog
	}
	m, err := stream.GetMsg(ctx, pos.Seq)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		if pos.Expires() || k.e.now()-pos.Time >= k.e.o.PurgeAge.Milliseconds() {
			return forgotten
		}
		return otherLog
	case err != nil:
		return unknown
	}
	there := events.Message{Subject: m.Subject, Header: m.Header, Data: m.Data, Seq: m.Sequence, Time: m.Time.UnixMilli()}
	if there.Time != pos.Time || projector.HashOf(&there) != pos.Hash {
		return otherLog
	}
	return present
}

// refusedSnapshots are those that this process does not try again.
type refusedSnapshots struct {
	mu    sync.Mutex
	list  map[snapshots.Header]bool
	began snapshots.Header // what the state under way began from
}

func (r *refusedSnapshots) has(h snapshots.Header) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list[h]
}

func (r *refusedSnapshots) add(h snapshots.Header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = make(map[snapshots.Header]bool)
	}
	r.list[h] = true
}

// begin notes what the next state begins from.
func (r *refusedSnapshots) begin(h snapshots.Header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began = h
}

// otherLog notes that the log was found to be another one when the state was at the
// sequence. Where that is where it began, the snapshot is of that other log; where
// it had been folded on, the log was the same then, and the snapshot may still be.
func (r *refusedSnapshots) otherLog(at uint64) {
	r.mu.Lock()
	began := r.began
	r.mu.Unlock()
	if began.Seq != 0 && began.Seq == at {
		r.add(began)
	}
}

// steppedStore is a store that tells of each commit before it is made.
type steppedStore struct {
	projector.Store
	step func(name string)
}

func (s steppedStore) Commit(b projector.Batch) error {
	s.step("restore: commit")
	return s.Store.Commit(b)
}
