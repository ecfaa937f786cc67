package projector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
)

// seenTwin keeps what was seen in plain maps. Pools it takes from the state.
type seenTwin struct {
	logTime  int64
	provider map[string]string           // by connection an event named
	last     map[string]map[string]int64 // by connection and key: the last counted event
	planned  map[string]bool
}

// step draws one message and does to the twin what the fold must do.
func (w *seenTwin) step(t *rapid.T, seq uint64) events.Message {
	conn := rapid.SampledFrom([]string{"c1", "c2", "c:3", "d"}).Draw(t, "conn")
	w.logTime += rapid.Int64Range(0, 1000).Draw(t, "gap")
	m := events.Message{Seq: seq, Time: w.logTime}
	switch rapid.IntRange(0, 7).Draw(t, "what") {
	case 0:
		fillPool(t, &m)
		if m.Data != nil && rapid.Bool().Draw(t, "other") { // a misspelt connection, and the others alone
			m.Data = []byte(strings.NewReplacer(`"connectionIds":["`, `"connectionIds":["typo","`, `"apiKeyId":"alice",`, `"apiKeyId":"*",`, `"*","weight":20,`, `"dora","weight":20,`).Replace(string(m.Data)))
		}
	case 1:
		m.Subject, m.Header = "quota.config.plan."+conn[:1], map[string][]string{"Quota-Config": {"put"}}
		m.Data = fmt.Appendf(nil, `{"connectionId":%q,"dimensions":[]}`, conn[:1])
		if w.planned[conn[:1]] = rapid.Bool().Draw(t, "put"); !w.planned[conn[:1]] {
			m.Header, m.Data = map[string][]string{"Quota-Config": {"delete"}}, nil
		}
	case 2:
		m.Subject = "quota.saturation"
		w.see(conn, "codex", rapid.Bool().Draw(t, "named"), &m, `"readings":[]`)
	default:
		m.Subject = "quota.consumption"
		key := rapid.SampledFrom([]string{"alice", "bob", "carol", "gpt"}).Draw(t, "key")
		n, tokens := rapid.IntRange(0, 2).Draw(t, "requests"), rapid.IntRange(0, 2).Draw(t, "tokens")
		w.see(conn, "kimi", rapid.Bool().Draw(t, "named"), &m, fmt.Sprintf(
			`"apiKeyId":%q,"model":"gpt","cost":{"requests":%d,"tokens":%d}`, key, n, tokens))
		if n+tokens > 0 {
			if w.last[conn] == nil {
				w.last[conn] = map[string]int64{}
			}
			w.last[conn][key] = w.logTime
		}
	}
	return m
}

func (w *seenTwin) see(conn, provider string, named bool, m *events.Message, rest string) {
	if named {
		w.provider[conn] = provider
		rest += fmt.Sprintf(`,"provider":%q`, provider)
	} else if _, known := w.provider[conn]; !known {
		w.provider[conn] = ""
	}
	m.Data = fmt.Appendf(nil, `{"connectionId":%q,%s}`, conn, rest)
}

func (w *seenTwin) connections(pools []projector.Pool) (list []projector.Connection) {
	for _, id := range []string{"c", "c1", "c2", "c3", "c:3", "d", "typo"} {
		provider, seen := w.provider[id]
		c := projector.Connection{ID: id, Provider: provider, Pool: poolOf(pools, id), Keys: len(w.last[id])}
		if c.Pool != "" {
			c.Provider = "kimi"
		}
		switch {
		case w.planned[id]:
			c.Source = plans.Manual
		case c.Provider != "":
			c.Source = plans.Catalogue
		}
		for _, last := range w.last[id] {
			c.LastEvent = max(c.LastEvent, last)
		}
		if seen || c.Pool != "" || w.planned[id] {
			list = append(list, c)
		}
	}
	return list
}

func poolOf(pools []projector.Pool, connection string) string {
	for _, p := range pools {
		for _, c := range p.Doc.Connections {
			if c.ConnectionID == connection {
				return p.Doc.ID
			}
		}
	}
	return ""
}

func (w *seenTwin) keys(pools []projector.Pool) (list []projector.Key) {
	for _, id := range []string{"alice", "bob", "carol", "dora", "gpt"} {
		k := projector.Key{ID: id}
		in := map[string]bool{}
		for conn, keys := range w.last {
			if keys[id] == 0 {
				continue
			}
			k.Connections++
			k.LastEvent = max(k.LastEvent, keys[id])
			in[poolOf(pools, conn)] = true
		}
		k.Outside = in[""]
		for _, p := range pools {
			own := slices.ContainsFunc(p.Doc.Allocations, func(a plans.Allocation) bool { return a.APIKeyID == id })
			switch { // every pool here has an allocation for the others
			case own:
				k.Pools = append(k.Pools, projector.KeyPool{Pool: p.Doc.ID, Allocation: id})
			case in[p.Doc.ID]:
				k.Pools = append(k.Pools, projector.KeyPool{Pool: p.Doc.ID, Allocation: "*"})
			}
		}
		if k.Connections > 0 || len(k.Pools) > 0 {
			list = append(list, k)
		}
	}
	return list
}

// TestListsEqualTheirTwin: what is listed is what was seen, allocated or
// planned, and the same after a restart.
func TestListsEqualTheirTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := seenTwin{start, map[string]string{}, map[string]map[string]int64{}, map[string]bool{}}
		store := memstore.New()
		s := projector.NewState(store)
		for seq := range rapid.IntRange(1, 30).Draw(t, "messages") {
			fold(t, s, []events.Message{w.step(t, uint64(seq+1))}, 1)
			if rapid.IntRange(0, 7).Draw(t, "then") == 0 {
				cut(t, s, store)
				s = load(t, store)
			}
		}
		if c := s.Counts(); c.Rejected > c.ByReason[slices.Index(projector.Reasons[:], events.ConfigInvalid)] {
			t.Fatalf("the test publishes what is no event: %+v", c)
		}
		if d := cmp.Diff(w.connections(s.Pools()), s.Connections(), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("connections: %s", d)
		}
		if d := cmp.Diff(w.keys(s.Pools()), s.Keys(), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("keys: %s", d)
		}
		for _, c := range w.connections(s.Pools()) {
			if got := s.KeysOf(c.ID); len(got) != c.Keys || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("the keys of %s are %q, want %d", c.ID, got, c.Keys)
			}
		}
	})
}

// TestListsOfMany: more keys and connections than one lock collects, one key of
// very many connections among them.
func TestListsOfMany(t *testing.T) {
	s := projector.NewState(memstore.New())
	const n = 2500
	var log []events.Message
	for i := range n {
		log = append(log, events.Message{Subject: "quota.consumption", Seq: uint64(i + 1), Time: start + int64(i), Data: fmt.Appendf(nil,
			`[{"apiKeyId":"k%04d","connectionId":"c%04d"},{"apiKeyId":"busy","connectionId":"c%04d"}]`, i, i, i)})
	}
	fold(t, s, log, 10)
	conns, keys := s.Connections(), s.Keys()
	if len(conns) != n || len(keys) != n+1 {
		t.Fatalf("%d connections and %d keys, want %d and %d", len(conns), len(keys), n, n+1)
	}
	want := projector.Key{ID: "busy", Connections: n, Outside: true, LastEvent: start + n - 1}
	if d := cmp.Diff(want, keys[0]); d != "" {
		t.Errorf("the busy key: %s", d)
	}
	for i := range n {
		if c := conns[i]; c.ID != fmt.Sprintf("c%04d", i) || c.Keys != 2 || c.LastEvent != start+int64(i) {
			t.Fatalf("connection %d: %+v", i, c)
		}
		if k := keys[i+1]; k.ID != fmt.Sprintf("k%04d", i) || k.Connections != 1 || k.LastEvent != start+int64(i) {
			t.Fatalf("key %d: %+v", i, k)
		}
	}
}
