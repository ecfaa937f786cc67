package projector_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/projector/pebblestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fataler is what testing.T and rapid.T share.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// fold applies the messages in runs of the given size.
func fold(t fataler, s *projector.State, log []events.Message, size int) {
	t.Helper()
	var r projector.Run
	for len(log) > 0 {
		n := min(size, len(log))
		r.Reset()
		for _, m := range log[:n] {
			r.Add(m)
		}
		must(t, s.Apply(&r))
		log = log[n:]
	}
}

func cut(t fataler, s *projector.State, store projector.Store) {
	t.Helper()
	b := store.NewBatch()
	must(t, s.Cut(b))
	must(t, store.Commit(b))
	s.Committed()
}

func load(t fataler, store projector.Store) *projector.State {
	t.Helper()
	s, err := projector.Load(store)
	must(t, err)
	return s
}

// outcome is all that must be equal however a log was folded.
type outcome struct {
	Digest projector.Digest
	Counts projector.Counts
	Rest   []projector.Rejection
}

func finish(t fataler, s *projector.State, store projector.Store) outcome {
	t.Helper()
	cut(t, s, store)
	d, err := s.Digest()
	must(t, err)
	rest, err := projector.Rejections(store, 1<<20)
	must(t, err)
	return outcome{Digest: d, Counts: s.Counts(), Rest: rest}
}

// plain folds the log in the simplest way there is: message by message, in
// memory, one batch at the end.
func plain(t fataler, log []events.Message) outcome {
	t.Helper()
	store := memstore.New()
	s := projector.NewState(store)
	fold(t, s, log, 1)
	return finish(t, s, store)
}

func same(t fataler, want, got outcome, how string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s gives another state:\n%s", how, d)
	}
}

// TestOneLawManyPaths: the state does not depend on batches, cuts, restarts or
// the kind of store.
func TestOneLawManyPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := histories(40).Draw(t, "log")
		want := plain(t, log)
		store := memstore.New()
		s := load(t, store)
		for rest := log; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "part")
			fold(t, s, rest[:n], rapid.IntRange(1, 5).Draw(t, "run"))
			rest = rest[n:]
			switch rapid.IntRange(0, 2).Draw(t, "then") {
			case 0:
				cut(t, s, store)
			case 1: // restart
				cut(t, s, store)
				s = load(t, store)
			}
		}
		same(t, want, finish(t, s, store), "cutting and restarting")
	})
}

// TestCrashesLoseNothing folds into Pebble, pulls the plug at random, and goes
// on from wherever the store then is.
func TestCrashesLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.OneOf(histories(30), routed(40)).Draw(t, "log")
		want := plain(t, log)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		fs := vfs.NewCrashableMem()
		for range rapid.IntRange(1, 4).Draw(t, "crashes") {
			store := openPebble(t, fs)
			s := load(t, store)
			rest := log[s.Position().Seq:]
			for range rapid.IntRange(0, 3).Draw(t, "cuts") {
				n := rapid.IntRange(0, len(rest)).Draw(t, "part")
				fold(t, s, rest[:n], 7)
				rest = rest[n:]
				cut(t, s, store)
				if rapid.Bool().Draw(t, "sync") {
					must(t, store.Sync())
				}
			}
			crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng})
			must(t, store.Close())
			fs = crashed
		}
		store := openPebble(t, fs)
		s := load(t, store)
		fold(t, s, log[s.Position().Seq:], 7)
		got := finish(t, s, store)
		must(t, store.Close())
		same(t, want, got, "crashing")
	})
}

func openPebble(t fataler, fs vfs.FS) *pebblestore.Store {
	t.Helper()
	store, err := pebblestore.Open(pebblestore.Options{Dir: "state", FS: fs})
	must(t, err)
	return store
}

// TestSentAgainIsFoldedOnce: a publisher that saw no acknowledgement sends again,
// readings and usage alike, and nothing of the state shows it.
func TestSentAgainIsFoldedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var once, again []events.Message
		clock := start
		for i := range rapid.IntRange(1, 20).Draw(t, "events") {
			clock += rapid.Int64Range(0, 40_000).Draw(t, "gap")
			e := says(t, clock)
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				e = usage(t, events.Consumption, clock)
			case 1:
				e = hold(t)
			case 2:
				e = release(t)
			case 3:
				e = routedHold(t, uint64(i), 0)
			}
			e.ID = strconv.Itoa(i)
			m := events.Message{Subject: "quota." + subjectOf[e.Kind], Time: clock, Data: events.AppendJSON(nil, &e)}
			m.Seq = uint64(len(once) + 1)
			once = append(once, m)
			for range rapid.IntRange(1, 3).Draw(t, "times") {
				m.Seq = uint64(len(again) + 1)
				again = append(again, m)
			}
		}
		if a, b := plain(t, once).Digest, plain(t, again).Digest; a != b {
			t.Fatalf("sent again the digest is %x, sent once %x", b, a)
		}
	})
}

var subjectOf = map[events.Kind]string{
	events.Consumption: "consumption", events.Saturation: "saturation", events.Hold: "hold", events.Release: "release",
}

// TestTheBatchUnderWayIsRemembered: an id whose entry is being committed must
// be found, before and after the commit has landed.
func TestTheBatchUnderWayIsRemembered(t *testing.T) {
	store := memstore.New()
	s := projector.NewState(store)
	event := func(seq uint64) []events.Message {
		return []events.Message{{
			Subject: "quota.consumption", Seq: seq, Time: start,
			Data: []byte(`{"id":"1","apiKeyId":"a","connectionId":"c","time":1790000000000}`),
		}}
	}
	fold(t, s, event(1), 1)
	b := store.NewBatch()
	must(t, s.Cut(b))
	fold(t, s, event(2), 1)
	if got := s.Counts().Duplicates; got != 1 {
		t.Errorf("while the commit is under way: %d duplicates, want 1", got)
	}
	must(t, store.Commit(b))
	s.Committed()
	fold(t, s, event(3), 1)
	if got := s.Counts(); got.Duplicates != 2 || got.Folded != 1 {
		t.Errorf("after the commit: %+v, want 1 folded and 2 duplicates", got)
	}
}

// TestManyIDsAreRemembered: several in a bucket, over several commits and days,
// through a restart.
func TestManyIDsAreRemembered(t *testing.T) {
	fs := vfs.NewMem()
	store := openPebble(t, fs)
	s := load(t, store)
	const ids, perDay = 20_000, 8_000
	var log []events.Message
	for i := range ids {
		log = append(log, usageAt(uint64(i+1), start+int64(i/perDay)*day, fmt.Sprintf(`,"id":"%d","time":%d`, i, start)))
	}
	for i := 0; i < ids; i += 5_000 {
		fold(t, s, log[i:i+5_000], 100)
		cut(t, s, store)
	}
	digest, err := s.Digest()
	must(t, err)
	if want := plain(t, log).Digest; digest != want {
		t.Errorf("in several commits the digest is %x, in one %x", digest, want)
	}
	must(t, store.Close())
	store = openPebble(t, fs)
	s = load(t, store)
	if again, err := s.Digest(); err != nil || again != digest {
		t.Errorf("after the restart the digest is %x, %v, want %x", again, err, digest)
	}
	for i := range log {
		log[i].Seq, log[i].Time = uint64(ids+i+1), start+3*day
	}
	fold(t, s, log, 100)
	if got := s.Counts(); got.Folded != ids || got.Duplicates != ids {
		t.Errorf("%d folded and %d duplicates, want %d of each", got.Folded, got.Duplicates, ids)
	}
	must(t, store.Close())
}
