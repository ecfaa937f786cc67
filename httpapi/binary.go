package httpapi

import (
	"net/http"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/wire"
)

// attributes are the headers that a binary CloudEvent has, of those that mean something
// here.
var attributes = []string{"Ce-Specversion", "Ce-Type", "Ce-Source", "Ce-Id", "Ce-Time"}

// isBinary reports whether a body is the data of one CloudEvent. A content type that
// says where the attributes are goes before headers that say it too.
func isBinary(r *http.Request, m media) bool {
	return len(r.Header["Ce-Specversion"]) > 0 && m != mediaCloudEvent && m != mediaCloudEvents
}

// strayAttribute returns the attribute that a header has without the ce-specversion that
// makes the request a CloudEvent, "" when there is none: its sender means one, and an id
// that is not taken would count what is sent again twice. In a body that is a CloudEvent
// itself the attributes are those of the body.
func strayAttribute(r *http.Request, m media) string {
	if m == mediaCloudEvent || m == mediaCloudEvents || isBinary(r, m) {
		return ""
	}
	for _, name := range attributes {
		if len(r.Header[name]) > 0 {
			return strings.ToLower(name)
		}
	}
	return ""
}

// copyAttributes takes those of a binary CloudEvent over, as events reads them. One that
// is there twice is refused: which of them counts, others between us and the sender may
// see otherwise.
func (b *eventBody) copyAttributes(from http.Header) error {
	for _, name := range attributes {
		switch values := from[name]; {
		case !b.binary || len(values) == 0:
		case len(values) == 1:
			b.header[name] = []string{unquoted(values[0])}
		default:
			return invalid(strings.ToLower(name) + ": is there twice: send it once")
		}
	}
	return nil
}

// unquoted undoes the quotes that older senders put around values with spaces, as the
// HTTP binding wants. Its percent-encoding is left to events.
func unquoted(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	var b strings.Builder
	for i := 1; i < len(s)-1; i++ {
		if s[i] == '\\' && i < len(s)-2 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// attribute returns a header of a binary CloudEvent, Absent when it is not there.
func (b *eventBody) attribute(name string) wire.Value {
	values := b.header[name]
	if len(values) == 0 {
		return wire.Value{}
	}
	return wire.Value{Kind: wire.String, Text: events.PercentDecode(values[0])}
}
