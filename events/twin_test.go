package events

import (
	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/wire"
)

// failer is what *testing.T, *testing.F and *rapid.T share here.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// decodeBoth decodes a message by both ways and fails when the scanner gives
// what the tree does not. It tells whether the scanner knew the message.
func decodeBoth(t failer, m *Message) (items []Item, scanned bool) {
	t.Helper()
	items = Decode(m, nil)
	if len(items) == 0 {
		t.Fatalf("%s %q: no item", m.Subject, m.Data)
	}
	for i := range items {
		if d := cmp.Diff(Event{}, items[i].Event); items[i].Err != nil && d != "" {
			t.Fatalf("%s %q: refused, and yet an event:\n%s", m.Subject, m.Data, d)
		}
	}
	kind, _, rej := parseSubject(m.Subject)
	if rej != nil || kind.IsConfig() || m.envelope().mode != plainMode {
		return items, false
	}
	env := m.envelope()
	enc := wire.Detect(env.contentType, firstByte(m.Data))
	fast, scanned := scanItems(m.Data, enc, kind, nil)
	if !scanned {
		return items, false
	}
	slow := decodeTree(m, kind, env, enc, nil)
	if d := cmp.Diff(slow, fast); d != "" {
		t.Fatalf("%s %q: scanner (+) differs from tree (-):\n%s", m.Subject, m.Data, d)
	}
	return items, true
}

// checkRoundTrip fails when an event that was decoded does not survive being
// written in either encoding, with the same content.
func checkRoundTrip(t failer, m *Message, e *Event) {
	t.Helper()
	for _, enc := range []wire.Encoding{wire.JSON, wire.Msgpack} {
		again := &Message{Subject: m.Subject, Data: Append(nil, enc, e)}
		items, _ := decodeBoth(t, again)
		if len(items) != 1 || items[0].Err != nil {
			t.Fatalf("%q: %v", again.Data, items[0].Err)
		}
		if d := cmp.Diff(*e, items[0].Event); d != "" {
			t.Fatalf("%q, written again as %q:\n%s", m.Data, again.Data, d)
		}
		if items[0].Event.Content() != e.Content() {
			t.Fatalf("%q: another content", again.Data)
		}
	}
}
