package main

import (
	"fmt"
	"io"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
)

// usageLines writes the usage that messages have, an event a line.
type usageLines struct {
	w     io.Writer
	buf   []byte // whole lines
	items []events.Item

	// The ids that were written last, half of them in each: who sends an event again
	// does so soon, and all ids of a long log would be gigabytes.
	seen, before map[[16]byte]struct{}
	most         int // in each

	written, again, unread uint64
}

const (
	exportedAtOnce = 64 << 10 // bytes
	idsRemembered  = 1 << 20  // in each half: together up to 100 MB
)

func newUsageLines(w io.Writer) *usageLines {
	return &usageLines{w: w, seen: make(map[[16]byte]struct{}), most: idsRemembered}
}

// message writes what the message has of usage.
func (x *usageLines) message(m *events.Message) error {
	kind, _, err := events.ParseSubject(m.Subject)
	if err != nil || kind != events.Consumption && kind != events.Adjustment {
		return nil
	}
	x.items = events.Decode(m, x.items[:0])
	for i := range x.items {
		if x.items[i].Err != nil {
			x.unread++
			continue
		}
		x.event(m, i, &x.items[i].Event)
	}
	if len(x.buf) < exportedAtOnce {
		return nil
	}
	return x.flush()
}

// event appends a line. The time is the one at which the event counted, as
// engines find it; absent or too far ahead it would be another one where it is imported.
func (x *usageLines) event(m *events.Message, index int, e *events.Event) {
	if x.known(e) {
		x.again++
		return
	}
	if e.Time == 0 || e.Time > m.Time+projector.MaxAhead {
		e.Time = m.Time
	}
	if e.ID == "" {
		// Import would name it by its line, and parts of a log that overlap would count
		// twice. The content tells logs apart.
		content := e.Content()
		e.ID = fmt.Sprintf("export-%d-%d-%x", m.Seq, index, content[:8])
	}
	x.buf = append(appendTyped(x.buf, e), '\n')
	x.written++
}

// appendTyped appends the event with its type, which its subject was. A CloudEvent stays
// one, since its source is a part of its identity, and has a type.
func appendTyped(dst []byte, e *events.Event) []byte {
	if e.Source != "" {
		return events.AppendJSON(dst, e)
	}
	dst = append(dst, `{"type":"`+e.Kind.String()+`",`...)
	begin := len(dst)
	dst = events.AppendJSON(dst, e) // it has an id, so there is more than the brace
	return append(dst[:begin], dst[begin+1:]...)
}

// known reports whether the event was written, and remembers that it is now.
func (x *usageLines) known(e *events.Event) bool {
	id, ok := e.Identity()
	if !ok {
		return false
	}
	_, now := x.seen[id]
	_, earlier := x.before[id]
	if now || earlier {
		return true
	}
	if len(x.seen) >= x.most {
		x.before, x.seen = x.seen, make(map[[16]byte]struct{}, x.most)
	}
	x.seen[id] = struct{}{}
	return false
}

// flush writes the lines that there are.
func (x *usageLines) flush() error {
	_, err := x.w.Write(x.buf)
	x.buf = x.buf[:0]
	return err
}
