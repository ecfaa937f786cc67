package events

import (
	"strings"

	"github.com/quotashare/quotashare/wire"
)

// decodeConfig reads the one document of a configuration message. The header
// says what to do, never the body: the broker itself can be made to write an
// acknowledgement, and a client an empty message, to any subject.
func (m *Message) decodeConfig(kind Kind, id string) Item {
	item := Item{Raw: m.Data}
	e := Event{
		Kind:     kind,
		ConfigID: id,
		Actor:    strings.ToValidUTF8(m.first(HeaderActor), "\ufffd"),
		Why:      strings.ToValidUTF8(m.first(HeaderReason), "\ufffd"),
	}
	do := m.header(HeaderConfig)
	switch {
	case len(do) != 1 || do[0] != ConfigPut && do[0] != ConfigDelete:
		item.Err = reject(ConfigUnmarked, "the header Quota-Config is not put or delete: a configuration message needs one of them")
	case do[0] == ConfigPut:
		item.Err = e.readDocument(m)
	default:
		e.Delete = true // whatever the body: some clients cannot send none
	}
	if item.Err == nil {
		item.Event = e
	}
	return item
}

// readDocument reads the document and checks that it is about the id in the
// subject. What else is in it is checked where it is understood.
func (e *Event) readDocument(m *Message) *Rejection {
	enc := wire.Detect(m.first(HeaderContentType), firstByte(m.Data))
	v, err := wire.Parse(enc, m.Data)
	if err != nil {
		return reject(Undecodable, err.Error())
	}
	if v.Kind != wire.Object {
		return reject(ConfigInvalid, "the document is "+v.Kind.String()+": a configuration message holds one object")
	}
	var faults wire.Faults
	e.Document, err = e.unwrapDocument(v, &faults)
	if err != nil {
		return reject(ConfigInvalid, err.Error())
	}
	if r, ok := wire.Read(e.Document, "", &faults); ok && len(faults) == 0 {
		e.checkConfigID(r)
	}
	if len(faults) > 0 {
		return reject(ConfigInvalid, faults.Error())
	}
	return nil
}

// unwrapDocument returns the data of a CloudEvent, and anything else as it is.
// Configuration has no identity: its revision is its sequence.
func (e *Event) unwrapDocument(v wire.Value, faults *wire.Faults) (wire.Value, error) {
	r, _ := wire.Read(v, "", faults)
	if !r.Has("specversion") {
		return v, nil
	}
	var envelope Event
	envelope.Kind = e.Kind
	envelope.readAttributes(r)
	return cloudData(r)
}

func (e *Event) checkConfigID(r wire.Reader) {
	name := idFields[e.Kind]
	if name == "" {
		return
	}
	if id := r.NeedID(name); id != "" && id != e.ConfigID {
		r.Fault(name, "is "+quoted(id)+", but the subject says "+quoted(e.ConfigID)+": they must agree")
	}
}

// idFields names the field of a document that its subject names too.
var idFields = [...]string{ConfigPool: "id", ConfigPlan: "connectionId", ConfigSettings: ""}
