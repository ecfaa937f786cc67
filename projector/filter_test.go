package projector

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"
)

func hashOf(n int) (h idHash) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(n)))
	copy(h[:], sum[:])
	return h
}

// A filter never forgets, over several segments, and passes few that were not
// added; else every new event would cost store look-ups.
func TestFilter(t *testing.T) {
	const n = 3 * firstSegment
	var f filter
	for i := range n {
		f.add(hashOf(i))
	}
	if got := len(f.segments); got != 2 {
		t.Errorf("%d segments for %d ids, want 2", got, n)
	}
	passed := 0
	for i := range 2 * n {
		h := hashOf(i)
		m := mask(h)
		switch got := f.perhaps(h, &m); {
		case i < n && !got:
			t.Fatalf("id %d is forgotten", i)
		case i >= n && got:
			passed++
		}
	}
	if passed > n/100 {
		t.Errorf("%d of %d unseen ids passed, want at most 1 %%", passed, n)
	}
}

// Equal hashes must not be taken for equal ids, and refs must be dense.
func TestInternerKeepsCollidingIDsApart(t *testing.T) {
	in := newInterner()
	a, b := in.intern("alice"), in.intern("bob")
	if a != 1 || b != 2 || in.intern("alice") != a || in.len() != 2 {
		t.Fatalf("refs %d %d, %d in all", a, b, in.len())
	}
	// As if both had one hash: bob hangs behind alice.
	in.entries.at(uint32(a)).next = b
	for h, r := range in.byHash {
		if r == b {
			in.byHash[h] = a
		}
	}
	if in.find("bob") != b || in.find("alice") != a {
		t.Errorf("found %d and %d", in.find("alice"), in.find("bob"))
	}
	if in.intern("") != 0 || in.find("carol") != 0 {
		t.Error("no id and an unknown id must be 0")
	}
}

// An arena must not move what it holds: readers keep pointers into it.
func TestArenaDoesNotMove(t *testing.T) {
	var a arena[int]
	_, first := a.add()
	*first = 7
	for range 3 * chunkSize {
		a.add()
	}
	if a.at(0) != first || *a.at(0) != 7 || a.n != 3*chunkSize+1 {
		t.Error("the first item has moved")
	}
}
