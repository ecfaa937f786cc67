package decider

import (
	"slices"
	"testing"

	"github.com/quotashare/quotashare/snapshots"
)

// TestWhatIsOfNoUseGoesWhenThereIsEnough: what is damaged, in its header or behind it,
// and what is of other rules; not before two others are there, even if one would do.
func TestWhatIsOfNoUseGoesWhenThereIsEnough(t *testing.T) {
	k := newKept(t)
	add := func(seq, rules uint64, harm func(data []byte) []byte) {
		t.Helper()
		h := snapshots.Header{Rules: rules, Seq: seq}
		_, err := k.snapshots.dir.Save(h, func(add func(key, value []byte) error) error { return add([]byte("r"), []byte("0123456789")) })
		if err != nil {
			t.Fatal(err)
		}
		k.rewrite(seq, harm)
	}
	list := func() []uint64 {
		t.Helper()
		seqs, err := k.snapshots.dir.List()
		if err != nil {
			t.Fatal(err)
		}
		return seqs
	}
	same := func(data []byte) []byte { return data }
	rules := k.newer.Rules
	add(10, rules+1, same)
	add(11, rules, func(data []byte) []byte { return data[:20] })
	add(12, rules, func(data []byte) []byte { return data[:len(data)-1] })
	k.rewrite(k.newer.Seq, func(data []byte) []byte { return data[:len(data)-1] })
	k.o.SnapshotKeep = 1
	k.begins() // looks at all of them
	k.snapshots.tidy()
	if got, want := list(), []uint64{12, 11, 10, k.newer.Seq, k.older.Seq}; !slices.Equal(got, want) {
		t.Errorf("with one of use there are %v, want %v", got, want)
	}
	add(9, rules, same)
	k.snapshots.tidy()
	if got, want := list(), []uint64{9, k.older.Seq}; !slices.Equal(got, want) {
		t.Errorf("with two of use there are %v, want %v", got, want)
	}
}
