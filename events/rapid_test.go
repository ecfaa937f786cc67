package events

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

var (
	ids      = rapid.StringMatching(`[a-zA-Z0-9:/%. é"\\*😀-]{1,12}`)
	maybeIDs = rapid.OneOf(rapid.Just(""), ids)
	instants = rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(quota.MinInstant, quota.MaxInstant))
)

func drawAmounts(t *rapid.T, e *Event, signed bool) {
	e.Given = rapid.Uint8Range(0, 15).Draw(t, "given")
	for u := range quota.Unit(quota.NumUnits) {
		low := int64(0)
		if signed {
			low = -int64(u.Max())
		}
		if e.Given&(1<<u) != 0 {
			e.Cost[u] = quota.Amount(rapid.Int64Range(low, int64(u.Max())).Draw(t, u.String()))
		}
	}
}

// drawEvent draws a valid event of any kind but configuration.
func drawEvent(t *rapid.T) Event {
	e := Event{
		Kind: Kind(rapid.IntRange(int(Consumption), int(Due)).Draw(t, "kind")),
		ID:   maybeIDs.Draw(t, "id"),
		Time: instants.Draw(t, "time"),
	}
	if e.ID != "" {
		e.Source = maybeIDs.Draw(t, "source")
	}
	switch e.Kind {
	case Consumption, Adjustment:
		e.APIKeyID, e.ConnectionID = ids.Draw(t, "key"), ids.Draw(t, "connection")
		e.Provider, e.Model, e.RequestID = maybeIDs.Draw(t, "provider"), maybeIDs.Draw(t, "model"), maybeIDs.Draw(t, "request")
		if e.Kind == Adjustment {
			e.Reason = rapid.StringN(1, 100, -1).Draw(t, "reason")
		} else {
			e.Partial, e.Estimated = rapid.Bool().Draw(t, "partial"), rapid.Bool().Draw(t, "estimated")
		}
		drawAmounts(t, &e, e.Kind == Adjustment)
	case Saturation:
		e.ConnectionID, e.Provider = ids.Draw(t, "connection"), maybeIDs.Draw(t, "provider")
		drawReadings(t, &e)
	case Release:
		e.APIKeyID, e.RequestID = ids.Draw(t, "key"), ids.Draw(t, "request")
	case Hold:
		drawHold(t, &e)
	}
	e.setDefaults()
	return e
}

func drawReadings(t *rapid.T, e *Event) {
	if rapid.Bool().Draw(t, "raw") {
		e.Status = rapid.OneOf(rapid.Just(0), rapid.IntRange(100, 599)).Draw(t, "status")
		e.Headers = rapid.MapOf(rapid.StringMatching(`[a-z-]{1,8}`), rapid.String()).Draw(t, "headers")
		return
	}
	e.Readings = []Reading{}
	for w := range quota.Rate + 1 {
		if rapid.Bool().Draw(t, "window") {
			used := quota.Amount(rapid.Int64Range(0, 200e6).Draw(t, "used"))
			e.Readings = append(e.Readings, Reading{w, maybeIDs.Draw(t, "scope"), used, instants.Draw(t, "reset")})
		}
	}
	if len(e.Readings) == 0 {
		e.Readings = nil
	}
}

func drawHold(t *rapid.T, e *Event) {
	if e.ID == "" {
		e.ID = "h"
	}
	e.APIKeyID, e.RequestID, e.DecisionID = ids.Draw(t, "key"), ids.Draw(t, "request"), ids.Draw(t, "decision")
	e.Model = maybeIDs.Draw(t, "model")
	e.LeaseMs = rapid.Int64Range(1, MaxLeaseMs).Draw(t, "lease")
	e.MaxWaitMs = rapid.Int64Range(0, MaxWaitMs).Draw(t, "wait")
	drawAmounts(t, e, false)
	switch rapid.IntRange(0, 2).Draw(t, "target") {
	case 0:
		e.ConnectionID = ids.Draw(t, "connection")
	case 1:
		e.Pool = ids.Draw(t, "pool")
	default:
		for _, id := range rapid.SliceOfNDistinct(ids, 1, 4, rapid.ID).Draw(t, "candidates") {
			c := Candidate{ConnectionID: id, HasScore: rapid.Bool().Draw(t, "scored")}
			if c.HasScore {
				c.Score = quota.Ratio(rapid.Int64Range(0, int64(maxScore)).Draw(t, "score"))
			}
			e.Candidates = append(e.Candidates, c)
		}
	}
}

// TestRoundTrip: what is written is read, in both encodings and by both ways.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		for _, enc := range []wire.Encoding{wire.JSON, wire.Msgpack} {
			m := &Message{Subject: e.Kind.Subject(""), Data: Append(nil, enc, &e)}
			items, _ := decodeBoth(t, m)
			if len(items) != 1 || items[0].Err != nil {
				t.Fatalf("%q: %v", m.Data, items[0].Err)
			}
			if d := cmp.Diff(e, items[0].Event); d != "" {
				t.Fatalf("%q: %s", m.Data, d)
			}
		}
	})
}

// TestScannerKnowsOurOwn: what our own programs write is of the common form,
// but for what only the tree knows.
func TestScannerKnowsOurOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		for _, enc := range []wire.Encoding{wire.JSON, wire.Msgpack} {
			data := Append(nil, enc, &e)
			escaped := enc == wire.JSON && strings.Contains(string(data), `\`)
			if e.Source != "" || e.Headers != nil || e.Candidates != nil || escaped || len(e.Reason) > MaxReason {
				continue
			}
			if _, scanned := decodeBoth(t, &Message{Subject: e.Kind.Subject(""), Data: data}); !scanned {
				t.Fatalf("not scanned: %q", data)
			}
		}
	})
}

// TestArrays: an array gives what its events give alone, each with its bytes,
// whether the scanner knows them all or not.
func TestArrays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		enc := wire.Encoding(rapid.IntRange(0, 1).Draw(t, "encoding"))
		first := drawEvent(t)
		parts := [][]byte{Append(nil, enc, &first)}
		for range rapid.IntRange(0, 5).Draw(t, "more") {
			if e := drawEvent(t); e.Kind == first.Kind {
				parts = append(parts, Append(nil, enc, &e))
			} else {
				parts = append(parts, wire.AppendValue(nil, enc, wire.Value{Kind: wire.Bool}))
			}
		}
		m := &Message{Subject: first.Kind.Subject(""), Data: joinArray(enc, parts)}
		items, _ := decodeBoth(t, m)
		if len(items) != len(parts) {
			t.Fatalf("%q: %d items", m.Data, len(items))
		}
		for i, part := range parts {
			alone := Decode(&Message{Subject: m.Subject, Data: part}, nil)[0]
			if d := cmp.Diff(alone, items[i]); d != "" {
				t.Fatalf("item %d of %q: %s", i, m.Data, d)
			}
		}
	})
}

func joinArray(enc wire.Encoding, parts [][]byte) []byte {
	if enc == wire.Msgpack {
		data := wire.AppendArrayHeader(nil, len(parts))
		for _, part := range parts {
			data = append(data, part...)
		}
		return data
	}
	data := []byte(" [")
	for i, part := range parts {
		if i > 0 {
			data = append(data, " ,\n"...)
		}
		data = append(data, part...)
	}
	return append(data, "\t] "...)
}

// TestOrderOfFieldsDoesNotMatter: neither for the event nor for its content.
func TestOrderOfFieldsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		v, err := wire.ParseJSON(AppendJSON(nil, &e))
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		shuffleFields(r, v)
		m := &Message{Subject: e.Kind.Subject(""), Data: wire.AppendValue(nil, wire.JSON, v)}
		items, _ := decodeBoth(t, m)
		if d := cmp.Diff(e, items[0].Event); d != "" || items[0].Event.Content() != e.Content() {
			t.Fatalf("%q: %s", m.Data, d)
		}
	})
}

func shuffleFields(r *rand.Rand, v wire.Value) {
	r.Shuffle(len(v.Fields), func(i, j int) { v.Fields[i], v.Fields[j] = v.Fields[j], v.Fields[i] })
	for i := range v.Fields {
		shuffleFields(r, v.Fields[i].Value)
	}
	for i := range v.Items {
		shuffleFields(r, v.Items[i])
	}
}
