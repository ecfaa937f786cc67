package golden

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/quotashare/quotashare/answers"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
	"github.com/quotashare/quotashare/wire"
)

// What history gives. Another digest here is another version of the rules; other
// answers are a change that users see.
const (
	wantDigest  = "5240d5a2469adfeeed0c99fcaaffd557d8941b8b2fdd365f70b88f7b9f5d16c8"
	wantAnswers = "541aa74625c9428ec335716b1c571f81ed2c1652fa1f603dec01e6b1ba011f15"
)

var update = flag.Bool("update", false, "write the snapshot of testdata anew")

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fold folds messages in runs of a size, commits after every so many runs, and begins
// anew from the store at each commit but the last.
func fold(t *testing.T, store projector.Store, list []events.Message, size, commit int) *projector.State {
	t.Helper()
	state, err := projector.Load(store)
	must(t, err)
	n := 0
	for run := range slices.Chunk(list, size) {
		var r projector.Run
		for _, m := range run {
			r.Add(m)
		}
		must(t, state.Apply(&r))
		if n++; n%commit == 0 {
			cut(t, state, store)
			state, err = projector.Load(store)
			must(t, err)
		}
	}
	cut(t, state, store)
	return state
}

func cut(t *testing.T, state *projector.State, store projector.Store) {
	t.Helper()
	b := store.NewBatch()
	must(t, state.Cut(b))
	must(t, store.Commit(b))
	state.Committed()
}

func digest(t *testing.T, state *projector.State) string {
	t.Helper()
	d, err := state.Digest()
	must(t, err)
	return fmt.Sprintf("%x", d)
}

// answered is the hash of the answers to all questions that there are about the
// history, in JSON.
func answered(state *projector.State) string {
	_, now := state.At()
	var all []questions.Question
	for k := range 6 {
		for c := range 7 {
			for m := range 4 {
				all = append(all, questions.Question{
					APIKeyID: fmt.Sprintf("k%d", k), ConnectionID: fmt.Sprintf("c%d", c), Model: fmt.Sprintf("m%d", m), Explain: true,
					Estimate: quota.Amounts{quota.Requests: 1000, quota.Tokens: 123_456},
				})
			}
		}
	}
	asked := make([]projector.Asked, len(all))
	state.Gather(all, now, asked)
	sum := sha256.New()
	var reply questions.Reply
	var scratch answers.Scratch
	for i := range all {
		reply.Reset()
		answers.Make(&all[i], &asked[i], nil, &reply, &answers.View{}, func() string { return "d" }, &scratch)
		sum.Write(questions.AppendReply(nil, wire.JSON, &reply))
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// TestEveryMachineFoldsAlike, whatever the batches.
func TestEveryMachineFoldsAlike(t *testing.T) {
	list := history()
	for _, c := range []struct{ size, commit int }{{1, len(list)}, {1, 97}, {7, 13}, {500, 1}, {len(list), 1}} {
		state := fold(t, memstore.New(), list, c.size, c.commit)
		if got := digest(t, state); got != wantDigest {
			t.Errorf("in runs of %d, and a restart after %d, the digest is %s, want %s", c.size, c.commit, got, wantDigest)
		}
		if got := answered(state); got != wantAnswers {
			t.Errorf("in runs of %d, and a restart after %d, the answers are %s, want %s", c.size, c.commit, got, wantAnswers)
		}
	}
}

// TestTheHistoryHasEverything, so that the digest says something.
func TestTheHistoryHasEverything(t *testing.T) {
	list := history()
	state := fold(t, memstore.New(), list, 500, 1)
	c := state.Counts()
	h := c.Holds
	for name, n := range map[string]uint64{
		"folded": c.Folded, "duplicates": c.Duplicates, "late": c.Late, "clamped": c.Clamped, "rejected": c.Rejected,
		"opened": h.Opened, "settled": h.Settled, "released": h.Released, "expired": h.Expired, "refused": h.Refused,
		"waited": h.Waited, "granted": h.Granted, "timed out": h.TimedOut, "open at the end": uint64(state.Holds().Open),
	} {
		if n == 0 {
			t.Errorf("%s: none", name)
		}
	}
	if got := kinds(list); len(got) != 14 {
		t.Errorf("%d subjects: %q", len(got), got)
	}
	t.Logf("%d messages, %+v", len(list), c)
}

// The snapshot that lies in testdata was written on amd64, in the middle.
const snapshotAt = 1234

// TestASnapshotOfAnotherMachine is restored, and folded on to the same state.
func TestASnapshotOfAnotherMachine(t *testing.T) {
	list := history()
	kept := filepath.Join("testdata", fmt.Sprintf("%020d.snapshot", snapshotAt))
	if *update {
		write(t, "testdata", list[:snapshotAt])
	}
	into := t.TempDir()
	file, err := os.ReadFile(kept)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(into, filepath.Base(kept)), file, 0o600))
	goesOn(t, into, list)
}

// TestASnapshotOfThisMachine does the same with one that is written here.
func TestASnapshotOfThisMachine(t *testing.T) {
	list := history()
	into := t.TempDir()
	write(t, into, list[:snapshotAt])
	goesOn(t, into, list)
}

func write(t *testing.T, dir string, list []events.Message) {
	t.Helper()
	store := memstore.New()
	fold(t, store, list, 500, 1)
	_, _, err := projected.Save(t.Context(), snapdir.New(snapdir.Options{Dir: dir}), store)
	must(t, err)
}

func goesOn(t *testing.T, dir string, list []events.Message) {
	t.Helper()
	s, err := snapdir.New(snapdir.Options{Dir: dir}).Newest(projected.Fits)
	must(t, err)
	defer s.Close()
	store := memstore.New()
	must(t, projected.Restore(t.Context(), store, s))
	h := s.Header()
	state, err := projector.Load(store)
	must(t, err)
	if got, want := digest(t, state), fmt.Sprintf("%x", h.Digest); got != want || h.Seq != snapshotAt {
		t.Errorf("at %d the digest is %s, and in the header %s", h.Seq, got, want)
	}
	if got := digest(t, fold(t, store, list[snapshotAt:], 500, 1)); got != wantDigest {
		t.Errorf("folded on the digest is %s, want %s", got, wantDigest)
	}
}
