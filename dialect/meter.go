package dialect

// form is what kind of text a body is.
type form uint8

const (
	unknown form = iota
	jsonBody
	events
)

// Meter reads the usage from the body of one response while it passes. It is a
// writer, for io.TeeReader and io.MultiWriter; it has constant memory and never
// fails. It is not safe for concurrent use.
type Meter struct {
	api     API
	refused bool
	form    form
	lines   lines
	picker  picker
	draft   draft
	head    []byte // how the data of the event begins
	closed  bool

	begun, whole, ended bool
	wild                bool // usage was stated that is not believed
	model, fault        string
	text                int64
	usage               usage
}

// NewMeter returns a meter for a response to api with this HTTP status. Whether
// the body is JSON or server-sent events is told by its first byte: servers
// have been seen to name the wrong type. Compressed bodies must be decoded
// before.
func NewMeter(api API, status int) *Meter {
	m := &Meter{api: api, refused: status < 200 || status > 299, usage: unsaid}
	m.picker.take = func(path []byte, t token) { m.draft.take(path, t) }
	m.lines = newLines(m.data, m.event)
	m.begin()
	return m
}

// begin begins a document.
func (m *Meter) begin() {
	m.draft = draft{api: m.api, usage: unsaid}
	m.picker.reset()
	m.head = m.head[:0]
}

// Write reads a piece of the body, cut anywhere. It always returns len(p), nil.
func (m *Meter) Write(p []byte) (int, error) {
	m.begun = m.begun || len(p) > 0
	b := p
	if m.form == unknown {
		b = m.sniff(b)
	}
	switch {
	case m.form == jsonBody && !m.ended:
		m.picker.feed(b)
		if m.picker.whole {
			m.document()
		}
	case m.form == events:
		m.lines.feed(b)
	}
	return len(p), nil
}

// sniff finds out what the body is, and drops white space and a byte order mark
// before it.
func (m *Meter) sniff(b []byte) []byte {
	b = afterLead(b)
	switch {
	case len(b) == 0:
	case b[0] == '{':
		m.form = jsonBody
	default:
		m.form = events
	}
	return b
}

// afterLead drops what may stand before a body: white space, and a byte order
// mark, of which b may have a part.
func afterLead(b []byte) []byte {
	for i, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n', 0xef, 0xbb, 0xbf:
		default:
			return b[i:]
		}
	}
	return nil
}

// Close says that no more comes, whether the body is whole or was cut. It
// always returns nil.
func (m *Meter) Close() error {
	if m.closed {
		return nil
	}
	m.closed = true
	switch {
	case m.form == jsonBody && !m.ended:
		m.note()
	case m.form == events:
		m.lines.end()
	}
	return nil
}

// note keeps what the document says that has been read.
func (m *Meter) note() {
	d := &m.draft
	if d.model != "" {
		m.model = d.model
	}
	if f := d.fault(); f != "" && m.fault == "" {
		m.fault = f
	}
	m.text += d.written()
	if d.wild {
		m.wild, m.whole, d.usage = true, false, unsaid
	}
	m.usage.raise(d.usage)
}

// document ends a body that is JSON.
func (m *Meter) document() {
	m.note()
	m.ended = true
	m.whole = m.enough()
}

func (m *Meter) data(piece []byte) {
	if len(m.head) < keepField {
		m.head = append(m.head, piece[:min(len(piece), keepField-len(m.head))]...)
	}
	m.picker.feed(piece)
}

// event ends an event. One whose data is no whole object is one that the client
// cannot read either.
func (m *Meter) event(name string) {
	switch {
	case m.api == Chat && string(m.head) == "[DONE]":
		m.ended, m.whole = true, m.enough()
	case m.picker.whole:
		m.draft.failed = m.draft.failed || name == "error"
		m.note()
		m.settle()
	}
	m.begin()
}

// settle finds what an event means for those before it.
func (m *Meter) settle() {
	d := &m.draft
	switch m.api {
	case Chat:
		// The usage of a chunk in which a choice goes on is not the last one: some
		// servers count along.
		if d.usage != unsaid {
			m.whole = d.choices == d.finished && m.enough()
		}
	case Messages:
		m.whole = m.whole || d.kind == "message_delta" && d.usage.completion >= 0 && m.enough()
		m.ended = m.ended || d.kind == "message_stop"
	case Responses:
		switch d.kind {
		case "response.completed", "response.incomplete", "response.failed":
			m.ended, m.whole = true, m.enough()
		}
	}
}

// enough reports whether what was stated is a sum that can be charged. A total
// below one of its parts is none, and does not stand for the part that is
// missing. Where one number is not believed all of it is as if it was not
// stated: what a server counts wrong in one place, it does not count.
func (m *Meter) enough() bool {
	if m.wild {
		return false
	}
	u := m.usage
	total := u.total >= max(u.prompt, u.completion, 0)
	switch m.api {
	case Messages:
		return u.prompt >= 0 && u.completion >= 0
	case Embeddings:
		return total || u.prompt >= 0
	}
	return total || u.prompt >= 0 && u.completion >= 0
}
