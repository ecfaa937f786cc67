package events

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/quotashare/quotashare/wire"
)

// MaxEvents is the most events that one message may hold.
const MaxEvents = 1000

// Decode appends the events of a message to dst, one Item per place, in order;
// the first is place 0. A message that is refused whole gives one Item with the
// Rejection and all of its bytes. There is always at least one.
//
// The items share memory with the message, which must not change afterwards.
func Decode(m *Message, dst []Item) []Item {
	kind, id, rej := parseSubject(m.Subject)
	if rej == nil {
		rej = m.checkTTL(kind)
	}
	if rej != nil {
		return append(dst, Item{Err: rej, Raw: m.Data})
	}
	if kind.IsConfig() {
		return append(dst, m.decodeConfig(kind, id))
	}
	env := m.envelope()
	enc := wire.Detect(env.contentType, firstByte(m.Data))
	if env.mode == plainMode {
		if items, ok := scanItems(m.Data, enc, kind, dst); ok {
			return items
		}
	}
	return decodeTree(m, kind, env, enc, dst)
}

func firstByte(data []byte) byte {
	if len(data) == 0 {
		return 0
	}
	return data[0]
}

// checkTTL refuses a message that the broker would forget by itself: it would
// be missing at a replay.
func (m *Message) checkTTL(kind Kind) *Rejection {
	switch {
	case len(m.header(HeaderTTL)) == 0, kind.IsConfig() && !m.Expires():
		return nil
	case kind.IsConfig():
		return reject(TTLNotAllowed, "the header Nats-TTL is not never: configuration must not expire")
	}
	return reject(TTLNotAllowed, "the header Nats-TTL is not allowed here: leave it out, because an event that expires is missing at a replay")
}

// Expires reports whether the broker forgets the message by itself.
func (m *Message) Expires() bool {
	values := m.header(HeaderTTL)
	return len(values) > 1 || len(values) == 1 && values[0] != TTLNever
}

// decodeTree is the way for everything that the scanner leaves: it parses the
// whole message into values, and it alone finds faults.
func decodeTree(m *Message, kind Kind, env envelope, enc wire.Encoding, dst []Item) []Item {
	v, raws, err := wire.ParseUpTo(enc, m.Data, MaxEvents)
	if err != nil {
		return append(dst, Item{Err: unparsed(err), Raw: m.Data})
	}
	if rej := env.checkShape(v); rej != nil {
		return append(dst, Item{Err: rej, Raw: m.Data})
	}
	if v.Kind != wire.Array {
		return append(dst, decodeItem(v, m.Data, kind, env))
	}
	for i, item := range v.Items {
		dst = append(dst, decodeItem(item, raws[i], kind, env))
	}
	return dst
}

// unparsed says why a message did not become values.
func unparsed(err error) *Rejection {
	if errors.Is(err, wire.ErrItems) {
		return reject(Invalid, fmt.Sprintf("the array has more than %d events: send at most that many in one message", MaxEvents))
	}
	return reject(Undecodable, err.Error())
}

// checkShape refuses an array that is empty, or where only one event may be.
func (env *envelope) checkShape(v wire.Value) *Rejection {
	switch {
	case v.Kind != wire.Array && env.mode == batchMode:
		return reject(Invalid, "the document is "+v.Kind.String()+", but its content type is a batch: send an array of CloudEvents")
	case v.Kind != wire.Array:
		return nil
	case env.mode == structuredMode || env.mode == binaryMode:
		return reject(Invalid, "the document is an array, but its headers say one CloudEvent: send one, or content type application/cloudevents-batch+json")
	case len(v.Items) == 0:
		return reject(Invalid, "the array is empty: send at least one event")
	}
	return nil
}

func decodeItem(v wire.Value, raw []byte, kind Kind, env envelope) Item {
	item := Item{Raw: raw}
	var faults wire.Faults
	item.Event.Kind = kind
	if err := item.Event.readEnveloped(v, env, &faults); err != nil {
		item.Err = reject(Undecodable, err.Error())
	} else if len(faults) > 0 {
		item.Err = reject(Invalid, faults.Error())
	}
	if item.Err != nil {
		item.Event = Event{}
	}
	return item
}

// quoted shows a text from outside in a message.
func quoted(s string) string { return strconv.QuoteToASCII(s) }
