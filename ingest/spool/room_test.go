package spool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/ingest/groups"
)

// narrowLog has a log that is back, but takes so many bytes.
type narrowLog struct {
	*fake
	most int
}

func (n narrowLog) Publish(ctx context.Context, m *groups.Message) (groups.Receipt, error) {
	if len(m.Data) > n.most {
		n.tried++
		return groups.Receipt{}, fmt.Errorf("%w: no %d bytes", groups.ErrTooLarge, len(m.Data))
	}
	return n.fake.Publish(ctx, m)
}

// TestWhatWasKeptForALogThatTookMore is brought in parts, in its order; what is too large
// alone is put aside alone. Joined is no more than the log takes.
func TestWhatWasKeptForALogThatTookMore(t *testing.T) {
	s := newStage(t, Options{})
	log := narrowLog{s.log, 300}
	s.log.set(true)
	ids := []string{"a", "b", "c", "d", strings.Repeat("e", 250), "f", "g"}
	for _, some := range [][]string{ids[:5], ids[5:6], ids[6:]} {
		if _, err := s.publish("quota.consumption", some...); err != nil {
			t.Fatal(err)
		}
	}
	s.o.Log, s.o.Room, s.log.away = log, func() int { return log.most }, false
	s.must(s.Close())
	var err error
	if s.Spool, err = Open(s.o); err != nil {
		t.Fatal(err)
	}
	b, err := s.first()
	if err != nil || len(b.list) != 1 {
		t.Fatalf("%d messages of %d bytes are brought as one, %v", len(b.list), b.bytes, err)
	}
	s.must(s.drain(t.Context()))
	var got []string
	for _, m := range s.log.list {
		for _, id := range ids {
			if strings.Contains(string(m.Data), `"id":"`+id+`"`) {
				got = append(got, id)
			}
		}
	}
	if want := slices.Concat(ids[:4], ids[5:]); !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
	if st := s.Stats(); st.Refused != 1 || st.Drained != 6 || st.Messages != 0 {
		t.Errorf("%+v", st)
	}
	if last := s.log.list[len(s.log.list)-1]; last.Events != 2 {
		t.Errorf("the last two have room for each other: %d", last.Events)
	}
}

// TestWhatIsNoArrayIsPutAside, whatever it says of itself.
func TestWhatIsNoArrayIsPutAside(t *testing.T) {
	s := newStage(t, Options{})
	s.log.set(true)
	if _, err := s.Publish(t.Context(), groups.NewMessage("s", []byte(`{"no":"array"}`), 2)); err != nil {
		t.Fatal(err)
	}
	s.Spool.o.Log = narrowLog{s.log, 1}
	if err := s.drain(t.Context()); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Refused != 2 || st.Messages != 0 {
		t.Errorf("%+v", st)
	}
}
