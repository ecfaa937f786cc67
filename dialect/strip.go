package dialect

import (
	"bytes"
	"io"
)

// maxEvent is how long an event may be that a Stripper looks into. The chunks
// it is after have a few hundred bytes.
const maxEvent = 1 << 20

// Stripper is a writer that passes a chat stream on as its client would have
// got it had AskUsage not changed the request: without the chunk that has only
// the usage, and without "usage": null in the others. All other bytes are
// passed on as they are, at the latest with the last byte of their event, which
// is when a client can read it; at most one event is held. Comments before an
// event are not: they show clients that the stream lives.
//
// It is for streams that AskUsage changed. What it cannot look into passes as
// it is: a body that is JSON, a stream whose lines end with CR alone, an event
// above 1 MiB. A byte order mark before the first event passes too, and what is
// behind it is looked into. It is not safe for concurrent use.
type Stripper struct {
	w      io.Writer
	held   []byte // of the event that is not whole
	line   int    // where its last line begins
	out    []byte // of one Write
	marked int    // bytes of a byte order mark that have come, -1 once it cannot come any more
	begun  bool
	pass   bool // the whole rest
	long   bool // the rest of the event
}

// NewStripper returns a Stripper that writes to w.
func NewStripper(w io.Writer) *Stripper { return &Stripper{w: w} }

// Write takes a piece of the stream, cut anywhere, and writes what it completes
// in one call. Errors are those of the writer below; after one n is 0, though
// a part may have been written.
func (s *Stripper) Write(p []byte) (n int, err error) {
	if !s.begun {
		if rest := afterLead(p); len(rest) > 0 {
			s.begun, s.pass = true, rest[0] == '{'
		}
	}
	s.out = s.out[:0]
	for b := s.mark(p); len(b) > 0; {
		n := bytes.IndexByte(b, '\n') + 1
		if n == 0 {
			n = len(b)
		}
		s.hold(b[:n])
		b = b[n:]
	}
	if len(s.out) == 0 {
		return len(p), nil
	}
	if _, err := s.w.Write(s.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes what is held of an event that the stream did not finish. It does
// not close the writer below.
func (s *Stripper) Close() error {
	if len(s.held) == 0 {
		return nil
	}
	rest := strip(s.held)
	s.held = nil
	if len(rest) == 0 {
		return nil
	}
	_, err := s.w.Write(rest)
	return err
}

// byteOrderMark is what a stream may begin with, and what its readers drop.
const byteOrderMark = "\xef\xbb\xbf"

// mark passes a byte order mark on once it is whole, before anything is held: it
// is the stream's and not its first event's, which may be taken out while the
// mark has to stay the first that comes. Not to pass it on at all would show no
// reader a difference, but the bytes are the provider's. What only begins like
// one is part of the first line.
func (s *Stripper) mark(b []byte) []byte {
	for len(b) > 0 && s.marked >= 0 {
		if b[0] != byteOrderMark[s.marked] {
			s.marked = -1
			break
		}
		s.held, b = append(s.held, b[0]), b[1:]
		if s.marked++; s.marked == len(byteOrderMark) {
			s.release(s.held)
			s.marked = -1
		}
	}
	return b
}

// hold takes a piece of a line, or the rest of it with its end.
func (s *Stripper) hold(b []byte) {
	s.pass = s.pass || lone(s.held, b)
	s.held = append(s.held, b...)
	s.long = s.long || len(s.held) > maxEvent
	line := s.held[s.line:]
	whole := line[len(line)-1] == '\n'
	switch {
	case string(line) == "\n", string(line) == "\r\n": // an empty line ends the event
		s.event()
	case s.pass || s.long, whole && s.line == 0 && line[0] == ':':
		s.release(s.held)
	case whole:
		s.line = len(s.held)
	}
}

// lone reports whether b, which comes after held, shows a CR without its LF.
func lone(held, b []byte) bool {
	if bytes.HasSuffix(held, []byte("\r")) && b[0] != '\n' {
		return true
	}
	b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
	return bytes.IndexByte(b, '\r') >= 0
}

func (s *Stripper) event() {
	if !s.pass && !s.long {
		s.release(strip(s.held))
		return
	}
	s.release(s.held)
	s.long = false
}

// release passes b on for all that is held.
func (s *Stripper) release(b []byte) {
	s.out = append(s.out, b...)
	s.held, s.line = s.held[:0], 0
}

// strip returns the event as it is to be passed on: nothing, with its data line
// without "usage": null, or as it is. In data of several lines, which no server
// is known to send, a null is left in.
func strip(event []byte) []byte {
	var data []byte
	at, count := 0, 0
	for start := 0; start < len(event); {
		end := start + bytes.IndexByte(event[start:], '\n') + 1
		if end == start {
			end = len(event)
		}
		if value, ok := bytes.CutPrefix(event[start:end], []byte("data:")); ok {
			data = append(data, value...) // its line end is white space between tokens
			at, count = end-len(value), count+1
		}
		start = end
	}
	only, null := chunk(data)
	switch {
	case only:
		return nil
	case null == span{} || count > 1:
		return event
	}
	return append(event[:at+null.from], event[at+null.to:]...)
}

// chunk reports whether a chunk has the usage and no choices, and where its
// "usage": null is, with the comma that goes with it.
func chunk(data []byte) (only bool, null span) {
	c := cursor{b: data}
	choices, usage := false, false
	first, last := true, 0 // last is where the member before ends
	_, err := c.document(func(name string) error {
		value, err := c.value()
		if err != nil {
			return err
		}
		switch {
		case name == "choices":
			choices = !none(value)
		case name == "usage" && string(value) == "null":
			if null = (span{last, c.i}); first {
				null = c.leading()
			}
		case name == "usage":
			usage = value[0] == '{'
		}
		first, last = false, c.i
		return nil
	})
	if err != nil {
		return false, span{}
	}
	return usage && !choices, null
}

// leading is the span of an object's first member, which ends at the cursor,
// with the comma behind it.
func (c *cursor) leading() span {
	from := bytes.IndexByte(c.b, '{') + 1
	to := c.i
	if c.next() == ',' {
		to = c.i + 1
	}
	return span{from, to}
}

// none reports whether choices are missing though they are named: servers send
// an empty array, OpenAI's own, or null, vLLM's.
func none(value []byte) bool {
	if string(value) == "null" {
		return true
	}
	return value[0] == '[' && len(bytes.TrimSpace(value[1:len(value)-1])) == 0
}
