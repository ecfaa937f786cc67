package decider

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/snapshots"
)

// keeping is a change of an engine: it keeps snapshots beside its store.
func keeping(e *Engine) {
	e.o.SnapshotDir = filepath.Join(filepath.Dir(e.o.Dir), "snapshots")
	e.snapshots = newSnapshotKeeper(e)
}

// usage publishes that many events of usage, of a few keys and connections.
func (r *running) usage(n int) (seq uint64) {
	r.t.Helper()
	for i := range n {
		seq = r.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":"k-%d","connectionId":"c-%d","cost":{"tokens":%d}}`, i%3, i%2, 100+i))
	}
	return seq
}

// digest is that of everything folded.
func (r *running) digest() string {
	r.t.Helper()
	s, err := r.State(r.within(), 0, true)
	r.must(err)
	if s.AppliedSeq != s.LastSeq {
		r.t.Errorf("it is at %d, and the log ends at %d", s.AppliedSeq, s.LastSeq)
	}
	return s.Digest
}

func (r *running) snapshot() httpapi.Snapshot {
	r.t.Helper()
	s, err := r.Snapshot(r.within())
	r.must(err)
	return s
}

// foldedAnew is the digest of an engine that has the log alone.
func foldedAnew(t *testing.T, nc *nats.Conn) string {
	t.Helper()
	r := start(t, nc, t.TempDir()+"/state", nil)
	defer r.stop()
	return r.digest()
}

func TestAnEmptyStoreBeginsFromASnapshot(t *testing.T) {
	nc := startLog(t, t.TempDir())
	dir := t.TempDir() + "/state"
	r := start(t, nc, dir, keeping)
	seq := r.usage(5)
	if got := r.snapshot(); got.Seq != seq || got.Digest != r.digest() || got.Bytes == 0 {
		t.Errorf("the snapshot is %+v, want one of %d with digest %s", got, seq, r.digest())
	}
	r.usage(3)
	r.stop()
	r.must(os.RemoveAll(dir))

	again := start(t, nc, dir, keeping)
	if said := fmt.Sprintf("the state begins from a snapshot\" seq=%d", seq); !strings.Contains(again.said.String(), said) {
		t.Errorf("it never said %s:\n%s", said, again.said.String())
	}
	if got, want := again.digest(), foldedAnew(t, nc); got != want {
		t.Errorf("the digest is %s, and that of a fold from the start %s", got, want)
	}
}

// gauge returns a figure without a label.
func (r *running) gauge(name string) float64 {
	r.t.Helper()
	registry := prometheus.NewRegistry()
	r.must(registry.Register(r.Metrics()))
	families, err := registry.Gather()
	r.must(err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	r.t.Fatalf("there is no %s", name)
	return 0
}

// TestSnapshotsAreTakenByThemselves, each of another place: none when nothing was
// folded since.
func TestSnapshotsAreTakenByThemselves(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", func(e *Engine) {
		keeping(e)
		e.o.SnapshotInterval = time.Millisecond
	})
	for range 5 {
		seq := r.usage(1)
		r.awaitSaid(fmt.Sprintf("took a snapshot\" seq=%d ", seq))
		for range 20 { // time for more of the same
			r.digest()
		}
	}
	for seq := range 5 {
		if n := strings.Count(r.said.String(), fmt.Sprintf("took a snapshot\" seq=%d ", seq+1)); n != 1 {
			t.Errorf("%d snapshots of %d were taken:\n%s", n, seq+1, r.said.String())
		}
	}
}

// TestWhenTheFirstSnapshotIsDue: an interval after the newest one there is.
func TestWhenTheFirstSnapshotIsDue(t *testing.T) {
	const minute, now = 60_000, 1_800_000_000_000
	for _, c := range []struct {
		interval time.Duration
		last     snapshots.Header
		want     time.Duration
	}{
		{10 * time.Minute, snapshots.Header{}, 10 * time.Minute},
		{10 * time.Minute, snapshots.Header{Seq: 1, LogTime: now - 4*minute}, 6 * time.Minute},
		{10 * time.Minute, snapshots.Header{Seq: 1, LogTime: now - 10*minute}, 0},
		{10 * time.Minute, snapshots.Header{Seq: 1, LogTime: now - 1000*minute}, 0},
		{10 * time.Minute, snapshots.Header{Seq: 1, LogTime: now + 1000*minute}, 10 * time.Minute}, // a clock was wrong
		{0, snapshots.Header{Seq: 1, LogTime: now - minute}, math.MaxInt64 - time.Minute},          // never
	} {
		k := &snapshotKeeper{e: &Engine{now: func() int64 { return now }, o: Options{SnapshotInterval: c.interval}}}
		if got := k.firstWait(c.last); got != c.want {
			t.Errorf("every %s, the last is %+v: it waits %s, want %s", c.interval, c.last, got, c.want)
		}
	}
}

// TestWhatIsNotTaken: of nothing, and where there is no place for it.
func TestWhatIsNotTaken(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", keeping)
	if _, err := r.Snapshot(r.within()); !errors.Is(err, httpapi.ErrConflict) {
		t.Errorf("of nothing: %v", err)
	}
	if list, err := r.Snapshots(r.within()); err != nil || len(list) != 0 {
		t.Errorf("the list is %+v, %v", list, err)
	}
	if got := r.figure("quotashare_snapshots_total", "failed"); got != 0 {
		t.Errorf("%g failed, want none: there was nothing to take", got)
	}
	without := start(t, nc, t.TempDir()+"/state", nil)
	if _, err := without.Snapshot(without.within()); !errors.Is(err, httpapi.ErrConflict) {
		t.Errorf("without a directory: %v", err)
	}
	without.stop()
	if _, err := without.Snapshot(without.within()); !errors.Is(err, httpapi.ErrUnavailable) {
		t.Errorf("of no projection: %v", err)
	}
}

// TestManyWhoAskAreAllAnswered, one after the other, also when the file has to be
// written anew; and the figures tell.
func TestManyWhoAskAreAllAnswered(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", keeping)
	seq := r.usage(2)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if got, err := r.Snapshot(r.within()); err != nil || got.Seq != seq {
				t.Errorf("it is %+v, %v", got, err)
			}
		})
	}
	await(t, returned(all.Wait), "the snapshots")
	for name, want := range map[string]float64{"taken": 5, "failed": 0} {
		if got := r.figure("quotashare_snapshots_total", name); got != want {
			t.Errorf("%g were %s, want %g", got, name, want)
		}
	}
	list, err := r.Snapshots(r.within())
	if err != nil || len(list) != 1 || r.gauge("quotashare_snapshot_bytes") != float64(list[0].Bytes) {
		t.Errorf("the list is %+v, %v", list, err)
	}
	if age := r.gauge("quotashare_snapshot_age_seconds"); age < 0 || age > patience.Seconds() {
		t.Errorf("it is %g seconds old", age)
	}
}

// TestASnapshotThatCannotBeWrittenIsToldAndCounted, and the engine goes on.
func TestASnapshotThatCannotBeWrittenIsToldAndCounted(t *testing.T) {
	nc := startLog(t, t.TempDir())
	dir := t.TempDir()
	r := start(t, nc, dir+"/state", keeping)
	r.usage(1)
	r.must(os.WriteFile(dir+"/snapshots", nil, 0o600)) // a file where the directory should be
	if _, err := r.Snapshot(r.within()); err == nil {
		t.Error("it was taken")
	}
	r.awaitSaid("no snapshot could be taken")
	if got := r.figure("quotashare_snapshots_total", "failed"); got != 1 {
		t.Errorf("%g failed, want 1", got)
	}
	r.must(os.Remove(dir + "/snapshots"))
	if got := r.snapshot(); got.Seq != 1 {
		t.Errorf("then it is %+v", got)
	}
}

// TestAStoreTheLogHasLeftBehind was away longer than the log keeps usage: a snapshot
// of another decider, from further on, takes its place. Without one it folds on with
// what there is.
func TestAStoreTheLogHasLeftBehind(t *testing.T) {
	for _, helped := range []bool{true, false} {
		nc := startLog(t, t.TempDir())
		away, there := t.TempDir(), t.TempDir()
		r := start(t, nc, away+"/state", keeping)
		r.usage(2)
		r.snapshot() // older than the store will be
		r.usage(1)
		r.stop()
		r = start(t, nc, there+"/state", keeping)
		r.usage(3)
		at := r.snapshot().Seq
		r.usage(1)
		want := r.digest()
		r.stop()
		stream, err := r.js.Stream(t.Context(), events.Stream)
		r.must(err)
		r.must(stream.Purge(t.Context(), jetstream.WithPurgeSequence(at)))
		if helped {
			r.must(os.CopyFS(away+"/snapshots", os.DirFS(there+"/snapshots")))
		}
		r = start(t, nc, away+"/state", func(e *Engine) {
			keeping(e)
			e.o.PurgeAge = time.Millisecond
		})
		if got := r.digest() == want; got != helped {
			t.Errorf("with a newer snapshot %v: the digest is that of all: %v\n%s", helped, got, r.said.String())
		}
		if said := strings.Contains(r.said.String(), errOvertaken.Error()); said != helped {
			t.Errorf("with a newer snapshot %v: it says %s", helped, r.said.String())
		}
	}
}

// TestSnapshotsOfAnotherLogDoNotStandInTheWay: their sequences are the highest, and
// those of this log are taken, counted as the newest, and in the end alone.
func TestSnapshotsOfAnotherLogDoNotStandInTheWay(t *testing.T) {
	dir := t.TempDir()
	before := start(t, startLog(t, t.TempDir()), dir+"/state", keeping)
	before.usage(8)
	high := before.snapshot()
	before.stop()
	r := start(t, startLog(t, t.TempDir()), dir+"/state", func(e *Engine) {
		e.o.SnapshotInterval, e.o.SnapshotKeep = time.Millisecond, 3
		keeping(e)
	})
	for range 3 {
		list, err := r.Snapshots(r.within())
		if err != nil || len(list) == 0 || list[0].Seq != high.Seq || !strings.HasPrefix(list[0].Problem, ofAnother) {
			t.Fatalf("the list is %+v, %v", list, err)
		}
		seq := r.usage(1)
		r.awaitSaid(fmt.Sprintf("took a snapshot\" seq=%d ", seq))
		if got := r.snapshots.newest().Seq; got != seq {
			t.Errorf("the newest is %d, want %d", got, seq)
		}
	}
	r.awaitSaid(fmt.Sprintf("of no use any more\" seq=%d", high.Seq))
	if list, err := r.Snapshots(r.within()); err != nil || len(list) != 3 || list[0].Seq != 3 || list[2].Seq != 1 {
		t.Errorf("in the end the list is %+v, %v", list, err)
	}
}
