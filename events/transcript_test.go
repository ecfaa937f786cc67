package events

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// TestTranscripts runs the transcripts in testdata. Their commands:
//
//	publish subject=S [msgpack] [hex] [repeat=N] [count]
//	[Header: value]…
//	[body]
//
// gives the items of the message: the event as Append writes it and what it
// counts, or why there is none. msgpack sends the JSON body as msgpack, hex
// takes it as hex digits, repeat makes an array of N of it, count shows the
// number of items only.
//
//	golden subject=S
//	body
//
// gives the fixed bytes of the one event.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			m := transcriptMessage(t, d)
			items, _ := decodeBoth(t, m)
			var b strings.Builder
			for i := range items {
				if d.Cmd == "golden" {
					golden(&b, &items[i].Event)
				} else {
					describe(&b, i, &items[i])
				}
				if items[i].Err == nil && !items[i].Event.Kind.IsConfig() {
					checkRoundTrip(t, m, &items[i].Event)
				}
			}
			if d.HasArg("count") {
				return fmt.Sprintf("%d items, the first: %v\n", len(items), items[0].Err)
			}
			return b.String()
		})
	})
}

func transcriptMessage(t *testing.T, d *datadriven.TestData) *Message {
	m := &Message{}
	d.ScanArgs(t, "subject", &m.Subject)
	body := d.Input
	for {
		line, rest, _ := strings.Cut(body, "\n")
		name, value, found := strings.Cut(line, ": ")
		if !found || strings.ContainsAny(name, `{["`) {
			break
		}
		if m.Header == nil {
			m.Header = map[string][]string{}
		}
		m.Header[name] = append(m.Header[name], value)
		body = rest
	}
	m.Data = []byte(body)
	var err error
	if d.HasArg("repeat") {
		var n int
		d.ScanArgs(t, "repeat", &n)
		m.Data = []byte("[" + strings.Repeat(body+",", n-1) + body + "]")
	}
	if d.HasArg("hex") {
		m.Data, err = hex.DecodeString(strings.ReplaceAll(body, " ", ""))
	} else if d.HasArg("msgpack") {
		var v wire.Value
		v, err = wire.ParseJSON([]byte(body))
		m.Data = wire.AppendValue(nil, wire.Msgpack, v)
	}
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return m
}

func describe(b *strings.Builder, i int, item *Item) {
	e := &item.Event
	if item.Err != nil {
		fmt.Fprintf(b, "%d: %s: %s\n", i, item.Err.Reason, item.Err.Message)
		return
	}
	switch {
	case e.Delete:
		fmt.Fprintf(b, "%d: %s %q: delete", i, e.Kind, e.ConfigID)
	case e.Kind.IsConfig():
		fmt.Fprintf(b, "%d: %s %q: %s", i, e.Kind, e.ConfigID, AppendJSON(nil, e))
	default:
		fmt.Fprintf(b, "%d: %s", i, AppendJSON(nil, e))
	}
	sep := " counts "
	for u := range quota.Unit(quota.NumUnits) {
		if e.Cost[u] != 0 {
			fmt.Fprintf(b, "%s%s %s", sep, e.Cost[u].Format(u), u)
			sep = ", "
		}
	}
	if e.Actor != "" {
		fmt.Fprintf(b, " by %s", e.Actor)
	}
	if e.Why != "" {
		fmt.Fprintf(b, " because %s", e.Why)
	}
	b.WriteByte('\n')
}

func golden(b *strings.Builder, e *Event) {
	identity, _ := e.Identity()
	content := e.Content()
	fmt.Fprintf(b, "json: %s\nmsgpack: %x\ncanonical: %x\nidentity: %x\ncontent: %x\n",
		AppendJSON(nil, e), AppendMsgpack(nil, e), e.AppendCanonical(nil), identity, content)
}
