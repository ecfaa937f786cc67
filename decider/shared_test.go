package decider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/lease"
	"github.com/quotashare/quotashare/snapshots/objects"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// sharing is a change of an engine: it keeps snapshots beside its store and in the
// broker, and has the lease a second after another gave it back. A shorter term would be
// over, and with it the lease of who lives, when the machine is busy for a moment.
func sharing(e *Engine) {
	keeping(e)
	e.o.SnapshotKeep = 2
	var err error
	if e.shared, err = newSharedWork(e, 3*time.Second); err != nil {
		panic(err)
	}
}

// storedShared takes a snapshot and waits until it is in the broker.
func (r *running) storedShared() uint64 {
	r.t.Helper()
	seq := r.snapshot().Seq
	r.awaitSaid(fmt.Sprintf("stored a snapshot in the broker\" seq=%d ", seq))
	return seq
}

// inBroker returns the sequences of the snapshots there, the newest first.
func (r *running) inBroker() (seqs []uint64) {
	r.t.Helper()
	kept, err := r.shared.kept(r.within())
	r.must(err)
	for _, h := range kept {
		seqs = append(seqs, h.Seq)
	}
	return seqs
}

// A decider with an empty directory begins from the snapshot that another one
// stored, and folds only what came after.
func TestANewDeciderBeginsFromASharedSnapshot(t *testing.T) {
	nc := startLog(t, t.TempDir())
	first := start(t, nc, t.TempDir()+"/state", sharing)
	first.usage(20)
	seq := first.storedShared()
	first.usage(3)

	second := start(t, nc, t.TempDir()+"/state", sharing)
	second.awaitSaid(fmt.Sprintf("the state begins from a snapshot\" seq=%d ", seq))
	if got := series(t, second.Metrics(), "quotashare_broker_snapshots_total"); !slices.Contains(got, "fetched 1") {
		t.Errorf("the metric has %q", got)
	}
	if got, want := second.digest(), foldedAnew(t, nc); got != want {
		t.Errorf("the digest is %s, and that of a fold from the start %s", got, want)
	}
}

// Where the log has forgotten what is in the snapshot, there is no other way.
func TestASharedSnapshotOutlivesTheLog(t *testing.T) {
	nc := startLog(t, t.TempDir())
	first := start(t, nc, t.TempDir()+"/state", sharing)
	first.usage(20)
	seq := first.storedShared()
	first.usage(3)
	want := first.digest()
	stream, err := first.js.Stream(first.within(), "QUOTA")
	first.must(err)
	first.must(stream.Purge(first.within(), jetstream.WithPurgeSequence(seq)))

	second := start(t, nc, t.TempDir()+"/state", sharing)
	if got := second.digest(); got != want {
		t.Errorf("the digest is %s, and that of who saw it all %s:\n%s", got, want, second.said.String())
	}
}

// One's own snapshot is of use only while the log has what follows it.
func TestAnOldSnapshotGivesWayToASharedOne(t *testing.T) {
	nc := startLog(t, t.TempDir())
	dir := t.TempDir() + "/state"
	second := start(t, nc, dir, keeping)
	second.usage(5)
	second.snapshot()
	second.stop()
	second.must(os.RemoveAll(dir))

	first := start(t, nc, t.TempDir()+"/state", sharing)
	first.usage(20)
	seq := first.storedShared()
	first.usage(3)
	want := first.digest()
	again := start(t, nc, dir, sharing)
	again.awaitSaid("the state begins from a snapshot\" seq=5 ") // the log has the rest
	mustHave(t, again.Metrics(), "quotashare_broker_snapshots_total", "stored 0", "removed 0", "failed 0", "fetched 0")
	again.stop()
	again.must(os.RemoveAll(dir))

	stream, err := first.js.Stream(first.within(), "QUOTA")
	first.must(err)
	first.must(stream.Purge(first.within(), jetstream.WithPurgeSequence(seq)))
	again = start(t, nc, dir, func(e *Engine) {
		e.o.PurgeAge = 1
		sharing(e)
	})
	again.awaitSaid(fmt.Sprintf("the state begins from a snapshot\" seq=%d ", seq))
	if got := again.digest(); got != want {
		t.Errorf("the digest is %s, and that of who saw it all %s", got, want)
	}
}

// One of two stores, the other one when the first has gone.
func TestOneDoesTheSharedWork(t *testing.T) {
	nc := startLog(t, t.TempDir())
	first := start(t, nc, t.TempDir()+"/state", sharing)
	second := start(t, nc, t.TempDir()+"/state", sharing)
	first.usage(5)
	seq := first.storedShared()
	first.must(first.shared.mayPurge(first.within()))
	if err := second.shared.mayPurge(second.within()); !errors.Is(err, lease.ErrNotHeld) {
		t.Errorf("the other one may purge: %v", err)
	}
	_, err := second.State(second.within(), first.usage(5), false)
	second.must(err)
	second.snapshot()
	first.stop()
	second.awaitSaid("stored a snapshot in the broker") // it is the one from before
	second.must(second.shared.mayPurge(second.within()))
	if got := second.inBroker(); !slices.Equal(got, []uint64{seq + 5, seq}) {
		t.Errorf("the broker has %d, want %d and %d", got, seq+5, seq)
	}
	if n := strings.Count(second.said.String(), "stored a snapshot in the broker"); n != 1 {
		t.Errorf("it stored %d, want 1:\n%s", n, second.said.String())
	}
}

// alone is an engine that does no shared work by itself, as another program has the
// lease, and its part in it, which does what it is told.
func alone(t *testing.T, nc *nats.Conn) (*running, *sharedWork) {
	t.Helper()
	held, done := make(chan error, 1), make(chan error, 1)
	another, err := lease.New(lease.Options{
		Conn: nc, Name: "another", Replicas: func(context.Context) (int, error) { return 1, nil },
		OnChange: func(has bool) {
			if has {
				held <- nil
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- another.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	came(t, held, "the lease")
	r := start(t, nc, t.TempDir()+"/state", sharing)
	return r, r.shared
}

// What was stored last stays, as many as are kept.
func TestTheLastAreKeptInTheBroker(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r, s := alone(t, nc)
	var all []uint64
	for range 4 {
		r.usage(2)
		all = append([]uint64{r.snapshot().Seq}, all...)
		r.must(s.store(r.within()))
		r.must(s.store(r.within())) // it is there
		want := all
		if len(all) > 3 { // the oldest of its ten days stays for audits
			want = []uint64{all[0], all[1], all[len(all)-1]}
		}
		if got := r.inBroker(); !slices.Equal(got, want) {
			t.Errorf("the broker has %d, want %d", got, want)
		}
	}
	mustHave(t, r.Metrics(), "quotashare_broker_snapshots_total", "stored 4", "removed 1", "failed 0", "fetched 0")
}

// A log that was replaced leaves snapshots of higher sequences. They are in nobody's
// way, and go as others do.
func TestSnapshotsOfAnotherLogGo(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r, s := alone(t, nc)
	for seq := range uint64(2) {
		h := snapshots.Header{Rules: projector.RulesVersion, Seq: 1000 + seq, Time: r.now(), LogTime: r.now() + 1e9}
		_, err := r.snapshots.dir.Save(h, func(func(key, value []byte) error) error { return nil })
		r.must(err)
		_, err = s.objects.Put(r.within(), r.snapshots.dir, h.Seq)
		r.must(err)
		r.must(r.snapshots.dir.Remove(h.Seq))
	}
	r.usage(2)
	first := r.snapshot().Seq
	r.must(s.store(r.within()))
	if got, want := r.inBroker(), []uint64{1001, first}; !slices.Equal(got, want) {
		t.Errorf("the broker has %d, want %d", got, want)
	}
	r.usage(2)
	second := r.snapshot().Seq
	r.must(s.store(r.within()))
	if got, want := r.inBroker(), []uint64{second, first}; !slices.Equal(got, want) {
		t.Errorf("the broker has %d, want %d", got, want)
	}
}

// Of two with the same content nobody needs the second, and none that is little
// further on.
func TestOnlyWhatIsWorthItIsStored(t *testing.T) {
	const minute = int64(60_000)
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", sharing)
	r.usage(1)
	r.storedShared()
	kept, err := r.shared.objects.List(r.within())
	r.must(err)
	there := kept[0].Header
	r.o.SnapshotInterval = 10 * time.Minute
	for _, c := range []struct {
		what  string
		seq   uint64
		after int64
		due   bool
	}{
		{"the same", there.Seq, 0, false},
		{"later by half an interval", there.Seq + 1, 5 * minute, true},
		{"later by less", there.Seq + 1, 5*minute - 1, false},
		{"of the same log, and before", there.Seq - 1, 20 * minute, false},
	} {
		local := snapshots.Header{Rules: there.Rules, Seq: c.seq, LogTime: there.LogTime + c.after}
		if got := r.shared.due(r.within(), local, kept); got != c.due {
			t.Errorf("%s: due is %t, want %t", c.what, got, c.due)
		}
	}
	other := kept[0]
	other.Header.Rules++
	if !r.shared.due(r.within(), there, []objects.Object{other}) {
		t.Error("what is of other rules is taken for one to start from")
	}
	other = kept[0]
	other.Header.Hash[0]++
	if !r.shared.due(r.within(), there, []objects.Object{other}) {
		t.Error("what is of another log is taken for one to start from")
	}
}

// The newest in the broker is damaged: an older one takes its place, and it is said
// once.
func TestADamagedSharedSnapshot(t *testing.T) {
	nc := startLog(t, t.TempDir())
	first := start(t, nc, t.TempDir()+"/state", sharing)
	first.usage(10)
	older := first.storedShared()
	first.usage(10)
	newer := first.storedShared()
	first.breakObject(newer)

	second := start(t, nc, t.TempDir()+"/state", sharing)
	second.awaitSaid(fmt.Sprintf("the state begins from a snapshot\" seq=%d ", older))
	if n := strings.Count(second.said.String(), "a snapshot in the broker cannot be used"); n != 1 {
		t.Errorf("said %d times:\n%s", n, second.said.String())
	}
	if got, want := second.digest(), foldedAnew(t, nc); got != want {
		t.Errorf("the digest is %s, and that of a fold from the start %s", got, want)
	}
}

// breakObject stores other bytes under a snapshot's name and description.
func (r *running) breakObject(seq uint64) {
	r.t.Helper()
	store, err := r.js.ObjectStore(r.within(), objects.Bucket)
	r.must(err)
	info, err := store.GetInfo(r.within(), snapdir.Name(seq))
	r.must(err)
	data, err := store.GetBytes(r.within(), snapdir.Name(seq))
	r.must(err)
	data[len(data)/2] ^= 1
	_, err = store.Put(r.within(), info.ObjectMeta, strings.NewReader(string(data)))
	r.must(err)
}

// A bucket without room is told of once and counted each time; local snapshots go
// on, and with room the broker has one again.
func TestNoRoomInTheBroker(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r, s := alone(t, nc)
	fill(t, r.Engine, 1)
	for range 2 {
		r.usage(2)
		r.snapshot()
		if s.attempt(r.within()) {
			t.Error("it was stored")
		}
	}
	if n := strings.Count(r.said.String(), "could not be stored in the broker"); n != 1 {
		t.Errorf("said %d times:\n%s", n, r.said.String())
	}
	mustHave(t, r.Metrics(), "quotashare_broker_snapshots_total", "stored 0", "removed 0", "failed 2", "fetched 0")
	list, err := r.snapshots.dir.List()
	r.must(err)
	if len(list) != 2 {
		t.Errorf("the directory has %d, want both", list)
	}
	fill(t, r.Engine, -1)
	if !s.attempt(r.within()) {
		t.Error("with room it was not stored")
	}
	fill(t, r.Engine, 1)
	r.usage(1)
	r.snapshot()
	s.attempt(r.within())
	if n := strings.Count(r.said.String(), "could not be stored in the broker"); n != 2 {
		t.Errorf("said %d times, want once more:\n%s", n, r.said.String())
	}
}

// fill gives the bucket that many bytes, -1 = any number.
func fill(t *testing.T, e *Engine, bytes int64) {
	t.Helper()
	ctx := (&running{t: t}).within()
	_, err := e.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: objects.Bucket, Description: "quotashare: snapshots of the state", MaxBytes: bytes,
	})
	if err != nil {
		t.Fatal(err)
	}
}
