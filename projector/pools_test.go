package projector_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
)

func poolMessage(seq uint64, do, id, name string) events.Message {
	m := events.Message{
		Seq: seq, Time: start, Subject: events.ConfigPool.Subject(id),
		Header: map[string][]string{"Quota-Config": {do}},
	}
	if do == "put" {
		m.Data = fmt.Appendf(nil, `{"id":%q,"name":%q,"provider":"kimi","connections":[{"connectionId":"c-%[1]s"}]}`, id, name)
	}
	return m
}

// Pools are listed in the byte order of their ids, each once, whatever was
// made, changed and deleted in which order, and after a restart too.
func TestPoolsAreListedInOrder(t *testing.T) {
	store := memstore.New()
	s := projector.NewState(store)
	fold(t, s, []events.Message{
		poolMessage(1, "put", "m", "M"),
		poolMessage(2, "put", "z", "Z"),
		poolMessage(3, "put", "a", "A"),
		poolMessage(4, "put", "m", "M again"),
		poolMessage(5, "put", "B", "B"),
		poolMessage(6, "delete", "a", ""),
		poolMessage(7, "delete", "nobody", ""),
		poolMessage(8, "put", "a b", "A B"),
		poolMessage(9, "delete", "z", ""),
		poolMessage(10, "put", "z", "Z again"),
	}, 1)
	want := []string{"B 5", "a b 8", "m 4", "z 10"}
	cut(t, s, store)
	for how, state := range map[string]*projector.State{"folded": s, "loaded": load(t, store)} {
		var got []string
		for _, p := range state.Pools() {
			got = append(got, fmt.Sprintf("%s %d", p.Doc.ID, p.Revision))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: pools with revisions %q, want %q", how, got, want)
		}
	}
}
