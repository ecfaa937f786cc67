package projector_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
)

// TestWhatAModelWeighedIsGone: when counters of models go alone, a question about the time
// when one weighed cannot be answered; nor one about a time before the bucket of one that
// is empty, as it may have taken the place of another.
func TestWhatAModelWeighedIsGone(t *testing.T) {
	const hour = 3_600_000
	used := func(subject string, seq uint64, at int64, tokens int) events.Message {
		return events.Message{Subject: subject, Seq: seq, Time: at, Data: fmt.Appendf(nil,
			`{"apiKeyId":"k","connectionId":"c","model":"m","cost":{"requests":0,"tokens":%d},"reason":"r"}`, tokens)}
	}
	first := int64(start / hour * hour)
	for name, c := range map[string]struct {
		log  []events.Message
		gone int64 // the first instant that can be asked about
	}{
		"used once":              {[]events.Message{used("quota.consumption", 2, first, 5)}, first + 2*hour},
		"corrected to nothing":   {[]events.Message{used("quota.consumption", 2, first, 5), used("quota.adjustment", 3, first, -5)}, first},
		"and it was used before": {[]events.Message{used("quota.consumption", 2, first-3*hour, 7), used("quota.consumption", 3, first, 5), used("quota.adjustment", 4, first, -5)}, first},
	} {
		store := memstore.New()
		s := load(t, store)
		fold(t, s, []events.Message{{
			Subject: "quota.config.pool.p", Seq: 1, Time: first - 3*hour, Header: map[string][]string{"Quota-Config": {"put"}},
			Data: []byte(`{"id":"p","name":"P","provider":"kimi","connectionIds":["c"]}`),
		}}, 1)
		fold(t, s, c.log, 1)
		cut(t, s, store)
		pass(t, s, first+15*day)
		g := &projector.Collection{Models: math.MaxInt64}
		for !s.Collect(g) {
		}
		if g.Dropped != 1 {
			t.Errorf("%s: %d dropped, want that of the model", name, g.Dropped)
		}
		for range 2 {
			if !tooOld(s, c.gone-1) || tooOld(s, c.gone) {
				t.Errorf("%s: it cannot be answered just before %d: %v, and then %v", name, c.gone, tooOld(s, c.gone-1), tooOld(s, c.gone))
			}
			cut(t, s, store)
			s = load(t, store)
		}
	}
}

// TestAPairOfNothingGoes: usage of nothing makes a pair that counts nothing.
func TestAPairOfNothingGoes(t *testing.T) {
	s := idleWorld(t, memstore.New(), 1)
	before := s.Sizes().Indexed
	seq, _ := s.At()
	m := usageOf(seq+1, start, "nobody")
	m.Data = []byte(`{"apiKeyId":"nobody","connectionId":"c","cost":{"requests":0}}`)
	fold(t, s, []events.Message{m}, 1)
	if got := s.Sizes().Indexed; got != before+1 {
		t.Fatalf("%d pairs, want one more than %d", got, before)
	}
	g := &projector.Collection{}
	for !s.Collect(g) {
	}
	if g.Pairs != 1 || g.Dropped != 0 || s.Sizes().Indexed != before {
		t.Errorf("%+v, and %+v", g, s.Sizes())
	}
}
