package replay

import (
	"errors"
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
)

// failing is a store that can be read no more when it fails.
type failing struct {
	*memstore.Store
	err error
}

func (f *failing) Scan(from, to []byte, fn func(key, value []byte) error) error {
	if f.err != nil {
		return f.err
	}
	return f.Store.Scan(from, to, fn)
}

// large is a state whose encoding is written in several pieces.
func large(t *testing.T) (*projector.State, *failing) {
	t.Helper()
	store := &failing{Store: memstore.New()}
	s := projector.NewState(store)
	for i := range 3000 {
		var run projector.Run
		run.Add(events.Message{
			Subject: "quota.consumption", Seq: uint64(i + 1), Time: 1_700_000_000_000,
			Data: fmt.Appendf(nil, `{"id":"i%04d","apiKeyId":"key%04d","connectionId":"c","cost":{"tokens":7}}`, i, i),
		})
		if err := s.Apply(&run); err != nil {
			t.Fatal(err)
		}
	}
	b := store.NewBatch()
	if err := s.Cut(b); err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(b); err != nil {
		t.Fatal(err)
	}
	s.Committed()
	return s, store
}

// TestItemsAreReadAsTheyAreWritten, over the ends of pieces, and only as many as are
// wanted.
func TestItemsAreReadAsTheyAreWritten(t *testing.T) {
	s, _ := large(t)
	pieces, bytes := 0, 0
	for p, err := range written(s) {
		if err != nil {
			t.Fatal(err)
		}
		pieces, bytes = pieces+1, bytes+len(p)
	}
	if pieces < 4 {
		t.Fatalf("%d bytes in %d pieces: no end of one is looked at", bytes, pieces)
	}
	for range written(s) {
		break // and the writer comes back with nothing to say
	}
	all, of := 0, map[string]int{}
	for it, err := range items(s) {
		if err != nil {
			t.Fatal(err)
		}
		all, of[digestParts[it.part]] = all+1, of[digestParts[it.part]]+1
	}
	if of[PartIDs] != 3000 || of[PartCounters] < 3000 {
		t.Errorf("items %v", of)
	}
	for wanted := 1; wanted <= all; wanted += 997 {
		n := 0
		for _, err := range items(s) {
			if n++; err != nil || n == wanted {
				break
			}
		}
		if n != wanted {
			t.Errorf("%d items, want %d", n, wanted)
		}
	}
}

// TestAStoreThatCannotBeReadIsNoEqualOne.
func TestAStoreThatCannotBeReadIsNoEqualOne(t *testing.T) {
	s, store := large(t)
	other, _ := large(t)
	store.err = errors.New("the disk is gone")
	if _, err := Compare(s, other); !errors.Is(err, store.err) {
		t.Errorf("held to another one: %v", err)
	}
	if _, err := Compare(other, s); !errors.Is(err, store.err) {
		t.Errorf("another one held to it: %v", err)
	}
}
