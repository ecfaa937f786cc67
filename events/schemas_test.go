package events

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/schemas/schematest"
	"github.com/quotashare/quotashare/wire"
)

// TestWhatIsWrittenIsAsItsSchemaSays, in both encodings.
func TestWhatIsWrittenIsAsItsSchemaSays(t *testing.T) {
	messages := [...]string{Consumption: "consumption", Saturation: "saturation", Adjustment: "adjustment", Release: "release", Hold: "hold", Due: "due"}
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		if len(e.Headers) > MaxHeaders {
			return // it could not be read
		}
		message := messages[e.Kind]
		switch {
		case e.Kind >= Hold:
			e.Source = "" // in an envelope nobody is to write it
		case e.Source != "":
			message = "cloudEvent"
		}
		for _, enc := range []wire.Encoding{wire.JSON, wire.Msgpack} {
			v, err := wire.Parse(enc, Append(nil, enc, &e))
			if err != nil {
				t.Fatal(err)
			}
			doc := wire.AppendValue(nil, wire.JSON, v)
			if err := schematest.Payload(message, doc); err != nil {
				t.Fatalf("%s: %v", doc, err)
			}
		}
	})
}

// TestRecordsOfRejectedEventsAreAsTheirSchemaSays, whatever was published.
func TestRecordsOfRejectedEventsAreAsTheirSchemaSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &Message{
			Subject: "quota.consumption." + maybeIDs.Draw(t, "tail"),
			Header:  rapid.MapOf(ids, rapid.SliceOfN(rapid.String(), 1, 3)).Draw(t, "headers"),
			Data:    rapid.SliceOf(rapid.Byte()).Draw(t, "data"),
			Seq:     rapid.Uint64Max(1<<53).Draw(t, "seq"),
			Time:    instants.Draw(t, "time"),
		}
		for i, it := range Decode(m, nil) {
			if it.Err == nil {
				continue
			}
			r := NewRejected(m, i, it.Err, it.Raw)
			if doc := r.AppendJSON(nil); schematest.Payload("rejected", doc) != nil {
				t.Fatalf("%s: %v", doc, schematest.Payload("rejected", doc))
			}
		}
	})
}
