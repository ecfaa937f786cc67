package starts_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/objects"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// both are the places to begin from, each empty.
func both(t *testing.T) (dir *snapdir.Dir, broker *objects.Store, all map[string]replay.Snapshots) {
	t.Helper()
	dir = snapdir.New(snapdir.Options{Dir: t.TempDir()})
	broker, err := objects.New(objects.Options{Conn: brokertest.Start(t).Connect()})
	if err != nil {
		t.Fatal(err)
	}
	into := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	return dir, broker, map[string]replay.Snapshots{
		"a directory": starts.Local{Dir: dir}, "the broker": starts.Shared{Broker: broker, Into: into},
	}
}

// TestASnapshotThatIsRemovedMeanwhile is no damaged one.
func TestASnapshotThatIsRemovedMeanwhile(t *testing.T) {
	_, _, all := both(t)
	for name, s := range all {
		if err := s.Check(t.Context(), 7); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSnapshotsOfOtherRulesAreNotThere, and the others are told of in their order.
func TestSnapshotsOfOtherRulesAreNotThere(t *testing.T) {
	dir, broker, all := both(t)
	for _, h := range []snapshots.Header{
		{Seq: 30, Rules: projector.RulesVersion},
		{Seq: 20, Rules: projector.RulesVersion + 1},
		{Seq: 10, Rules: projector.RulesVersion},
		{Seq: 40, Rules: projector.RulesVersion - 1},
	} {
		if _, err := dir.Save(h, func(func(key, value []byte) error) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := broker.Put(t.Context(), dir, h.Seq); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range all {
		list, damaged, err := s.Headers(t.Context())
		var seqs []uint64
		for _, h := range list {
			seqs = append(seqs, h.Seq)
		}
		if fmt.Sprint(seqs) != "[10 30]" || damaged != nil || err != nil {
			t.Errorf("%s has %d, damaged %v, %v", name, seqs, damaged, err)
		}
		for notAfter, want := range map[uint64]uint64{10: 10, 29: 10, 30: 30, 99: 30} {
			got, err := s.Newest(t.Context(), notAfter)
			if err != nil {
				t.Fatalf("%s, not after %d: %v", name, notAfter, err)
			}
			if got.Header().Seq != want {
				t.Errorf("%s, not after %d: %d, want %d", name, notAfter, got.Header().Seq, want)
			}
			if err := got.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
