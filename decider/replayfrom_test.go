package decider

import "testing"

// TestReplayBeginsWhereNothingIsMissing: with all messages at the first of them, after
// a purge with the oldest snapshot, though the first message of the log is there still.
func TestReplayBeginsWhereNothingIsMissing(t *testing.T) {
	s := tell(t)
	defer func() { s.end() }()
	s.run(func(r *running) {
		begins := func() int64 {
			t.Helper()
			x, err := r.State(r.within(), 0, false)
			r.must(err)
			return x.ReplayFrom
		}
		seqs, err := r.snapshots.dir.List()
		r.must(err)
		if got, want := begins(), s.now-65*dayMs; got != want || len(seqs) != 3 {
			t.Errorf("before the purge it begins %d ms late, with snapshots %d", got-want, seqs)
		}
		r.must(r.snapshots.dir.Remove(seqs[2]))
		if got, want := begins(), s.now-65*dayMs; got != want {
			t.Errorf("a log that has all needs no snapshot: %d ms late", got-want)
		}
		if x := r.retained(); !x.Finished || x.Error != "" {
			t.Fatalf("%+v", x)
		}
		if got, want := begins(), s.now-45*dayMs; got != want {
			t.Errorf("after the purge it begins %d ms late", got-want)
		}
		for _, seq := range seqs[:2] {
			r.must(r.snapshots.dir.Remove(seq))
		}
		if got := begins(); got != 0 {
			t.Errorf("without a snapshot it begins at %d", got)
		}
	})
}
