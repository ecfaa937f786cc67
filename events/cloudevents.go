package events

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/quotashare/quotashare/wire"
)

// mode is how a message may carry CloudEvents.
type mode uint8

const (
	plainMode      mode = iota // no word of it; an object with specversion is one all the same
	structuredMode             // the content type says that the document is one
	batchMode                  // the content type says that it is an array of them
	binaryMode                 // the attributes are headers, the document is the data
)

// envelope is what a message's headers say about CloudEvents.
type envelope struct {
	mode        mode
	contentType string
	attributes  wire.Value // of binary mode
}

const (
	headerPrefix = "ce-"
	maxSource    = 2048 // characters
)

var attributeNames = []string{"specversion", "type", "source", "id", "time"}

func (m *Message) envelope() envelope {
	if len(m.Header) == 0 {
		return envelope{}
	}
	env := envelope{contentType: m.first(HeaderContentType)}
	media, _, _ := strings.Cut(strings.ToLower(env.contentType), ";")
	switch media = strings.TrimSpace(media); {
	case strings.HasPrefix(media, "application/cloudevents-batch"):
		env.mode = batchMode
	case strings.HasPrefix(media, "application/cloudevents"):
		env.mode = structuredMode
	case len(m.header(headerPrefix+"specversion")) > 0:
		env.mode = binaryMode
		env.attributes = m.attributes()
	}
	return env
}

// attributes makes an object of the ce- headers, so that they are read as those
// of a structured CloudEvent are.
func (m *Message) attributes() wire.Value {
	v := wire.Value{Kind: wire.Object}
	for _, name := range attributeNames {
		if values := m.header(headerPrefix + name); len(values) > 0 {
			text := wire.Value{Kind: wire.String, Text: PercentDecode(values[0])}
			v.Fields = append(v.Fields, wire.Field{Name: name, Value: text})
		}
	}
	return v
}

// PercentDecode undoes the escaping that the bindings of CloudEvents ask for in header values.
// A percent sign that begins no escape stands for itself: many senders escape
// nothing.
func PercentDecode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && len(s)-i > 2 {
			hex := strings.ToUpper(s[i+1 : i+3])
			high, low := strings.IndexByte(upperHex, hex[0]), strings.IndexByte(upperHex, hex[1])
			if high >= 0 && low >= 0 {
				b.WriteByte(byte(high<<4 | low))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// readEnveloped reads an event that may be a CloudEvent. Faults are collected;
// the error is that of data_base64 that does not parse.
func (e *Event) readEnveloped(v wire.Value, env envelope, faults *wire.Faults) error {
	r, ok := wire.Read(v, "", faults)
	if !ok {
		return nil
	}
	switch {
	case env.mode == binaryMode:
		attributes, _ := wire.Read(env.attributes, "", faults)
		e.readAttributes(attributes)
		e.read(r)
	case env.mode == plainMode && !r.Has("specversion"):
		e.readOwn(r)
	default:
		e.readAttributes(r)
		data, err := cloudData(r)
		if err != nil {
			return err
		}
		if data.Kind == wire.Absent {
			r.Fault("data", "is missing: send the event there, or in data_base64")
		} else if d, ok := wire.Read(data, "data", faults); ok {
			e.read(d)
		}
	}
	return nil
}

// readOwn reads an event that is no CloudEvent.
func (e *Event) readOwn(r wire.Reader) {
	e.ID = r.ID("id")
	e.read(r)
}

// readAttributes reads what the envelope of a CloudEvent says: the identity is
// source and id, whatever id its data may have.
func (e *Event) readAttributes(r wire.Reader) {
	if version := r.NeedText("specversion", 16); version != "" && version != "1.0" {
		r.Fault("specversion", `is not "1.0": send CloudEvents 1.0`)
	}
	if t := r.NeedText("type", 256); t != "" && t != e.Kind.String() {
		r.Fault("type", fmt.Sprintf("is not %q, the subject it was sent to", e.Kind.String()))
	}
	e.Source = r.NeedText("source", maxSource)
	if !utf8.ValidString(e.Source) {
		r.Fault("source", "is not valid UTF-8")
	}
	e.ID = r.NeedID("id")
	e.Time = r.Instant("time")
}

// cloudData returns the data of a structured CloudEvent: a value, or a document
// of its own in base64, which is the only way for msgpack in JSON.
func cloudData(r wire.Reader) (wire.Value, error) {
	text := r.Text("data_base64", 2<<20)
	if r.Has("data") || text == "" {
		return r.Get("data"), nil
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return wire.Value{}, fmt.Errorf("data_base64 is not base64: %w", err)
	}
	enc := wire.Detect(r.Text("datacontenttype", 256), firstByte(data))
	v, err := wire.Parse(enc, data)
	if err != nil {
		return wire.Value{}, fmt.Errorf("in data_base64, %w", err)
	}
	return v, nil
}
