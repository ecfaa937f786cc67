package dialect

import "bytes"

// lines reads server-sent events in pieces cut anywhere, in constant memory:
// what a field says is handed on as it comes. Lines end with LF, CR LF or CR,
// lines that begin with a colon are comments, several data lines are one text
// with line feeds between, and an event without data is none
// (html.spec.whatwg.org/multipage/server-sent-events.html).
type lines struct {
	data func(piece []byte) // of the event's data
	done func(event string) // the event is whole; its name, "" for none

	name  []byte // of the field that is read, its first bytes
	event []byte // the name of the event
	value bool   // past the colon
	space bool   // one space after the colon is no part of the value
	empty bool   // nothing of the line has come
	after bool   // the last byte was a CR, whose LF may follow
	count int    // data lines of the event
}

var lineFeed = []byte{'\n'} // between two lines of data

const keepField = 8 // "event" and "data" are shorter

func newLines(data func([]byte), done func(string)) lines {
	return lines{data: data, done: done, empty: true}
}

func (l *lines) feed(b []byte) {
	for len(b) > 0 {
		c := b[0]
		switch {
		case c == '\n' && l.after:
			l.after = false
			b = b[1:]
		case c == '\n' || c == '\r':
			l.after = c == '\r'
			l.line()
			b = b[1:]
		default:
			l.after, l.empty = false, false
			b = b[l.field(b):]
		}
	}
}

// field reads a piece of a line, at least a byte of it.
func (l *lines) field(b []byte) int {
	if !l.value {
		if b[0] == ':' {
			l.value, l.space = true, true
			l.begin()
		} else if len(l.name) < keepField {
			l.name = append(l.name, b[0])
		}
		return 1
	}
	if l.space {
		l.space = false
		if b[0] == ' ' {
			return 1
		}
	}
	n := lineEnd(b)
	switch string(l.name) {
	case "data":
		l.data(b[:n])
	case "event":
		l.event = append(l.event, b[:min(n, keepName-len(l.event))]...)
	}
	return n
}

// lineEnd is the length of what comes before the end of a line.
func lineEnd(b []byte) int {
	n := bytes.IndexByte(b, '\n')
	if n < 0 {
		n = len(b)
	}
	if at := bytes.IndexByte(b[:n], '\r'); at >= 0 {
		n = at
	}
	return n
}

// begin begins the value of a field.
func (l *lines) begin() {
	switch string(l.name) {
	case "data":
		if l.count++; l.count > 1 {
			l.data(lineFeed)
		}
	case "event":
		l.event = l.event[:0]
	}
}

// line ends a line; an empty one ends the event.
func (l *lines) line() {
	if l.empty {
		if l.count > 0 {
			l.done(string(l.event))
		}
		l.event, l.count = l.event[:0], 0
	}
	if !l.value && string(l.name) == "data" { // a field without a colon has an empty value
		l.begin()
	}
	l.name, l.value, l.space, l.empty = l.name[:0], false, false, true
}

// end takes what has come of the last event for all of it.
func (l *lines) end() {
	if !l.empty {
		l.line()
	}
	l.line()
}
