package events

import (
	"math/rand/v2"
	"slices"
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
		e.DecisionID = maybeIDs.Draw(t, "decision")
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

// odd are values that are wrong, or right in an unusual way, somewhere.
var odd = []wire.Value{
	{Kind: wire.Null},
	{Kind: wire.Bool, Bool: true},
	{Kind: wire.Array},
	{Kind: wire.Object},
	{Kind: wire.Array, Items: []wire.Value{{Kind: wire.Object}}},
	number("0"), number("-0"), number("-1"), number("00"), number("1."), number("1.0"), number(".5"), number("1e3"),
	number("-"), number("1e30"), number("1e31"), number("0.0005"), number("0.0004999"), number("-0.0005"), number("1000000000000"), number("1000000000000.0005"),
	number("999999999999999999"), number("9223372036854775807"), number("9223372036854775808"), number("18446744073709551616"),
	number("1786699815250"), number("1786699815250.5"), number("946684799999"), number("253402300800000"), number("3600000"), number("3600001"),
	text(""), text("1"), text("-1"), text("1.5"), text("+1"), text("NaN"), text(" 1"), text("1786699815250"), text("5h"), text("rate"), text("7d"),
	text("2026-08-14T09:30:15Z"), text("2026-08-14T09:30:15.250Z"), text("2026-02-29T09:30:15Z"), text("2026-08-14T24:00:00Z"), text("2026-08-14T23:59:60Z"),
	text("2026-08-14T09:30:15+02:00"), text("1999-12-31T23:59:59.999Z"), text("2026-08-14t09:30:15z"), text("2026-8-14T09:30:15.0Z"), text("20260814T093015.250000Z"),
	text("a\x7fb"), text("é"), text("\u0085"), text("\t"), text(`"\`), text(strings.Repeat("x", 256)), text(strings.Repeat("x", 257)), text(strings.Repeat("é", 129)),
}

var oddNames = []string{"id", "time", "type", "specversion", "x", "tokens", "cost", "window", "readings", "headers", "apiKeyId", "connectionId", "pool", "candidates", ""}

func number(s string) wire.Value { return wire.Value{Kind: wire.Number, Text: s} }
func text(s string) wire.Value   { return wire.Value{Kind: wire.String, Text: s} }

// TestOddEvents: scanner and tree agree about events with something odd in them.
func TestOddEvents(t *testing.T) {
	scans := 0
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		e.Source = ""
		enc := wire.Encoding(rapid.IntRange(0, 1).Draw(t, "encoding"))
		v, err := wire.Parse(enc, Append(nil, enc, &e))
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			makeOdd(t, &v)
		}
		data := wire.AppendValue(nil, enc, v)
		if rapid.IntRange(0, 3).Draw(t, "bytes") == 0 {
			at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
			data[at] = rapid.SampledFrom([]byte("\x00 {}[],:\"\\0-.eE\xc0\xca\xd3\xdf\xff")).Draw(t, "byte")
		}
		m := &Message{Subject: e.Kind.Subject(""), Data: data}
		items, scanned := decodeBoth(t, m)
		if scanned {
			scans++
		}
		for i := range items {
			if items[i].Err == nil {
				checkRoundTrip(t, m, &items[i].Event)
			}
		}
	})
	if scans == 0 {
		t.Error("the scanner knew none of them, so nothing was compared")
	}
}

// makeOdd puts something odd at a place within v.
func makeOdd(t *rapid.T, v *wire.Value) {
	for {
		n := len(v.Fields) + len(v.Items)
		if n == 0 || rapid.IntRange(0, 3).Draw(t, "stop") == 0 {
			break
		}
		i := rapid.IntRange(0, n-1).Draw(t, "member")
		if i < len(v.Fields) {
			v = &v.Fields[i].Value
		} else {
			v = &v.Items[i-len(v.Fields)]
		}
	}
	value := rapid.SampledFrom(odd).Draw(t, "value")
	value.Items = slices.Clone(value.Items) // what is put in may be changed next
	switch {
	case v.Kind == wire.Object && rapid.Bool().Draw(t, "add"):
		name := rapid.SampledFrom(oddNames).Draw(t, "name")
		v.Fields = append(v.Fields[:len(v.Fields):len(v.Fields)], wire.Field{Name: name, Value: value})
	case len(v.Fields) > 0:
		v.Fields = v.Fields[1:]
	default:
		*v = value
	}
}
