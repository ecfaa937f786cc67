package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/wire"
)

// maxArray is the most events of one body that is read whole. It bounds the
// answer, which is longer than the body when each of its events is two bytes.
const maxArray = 100_000

// ingest publishes events: one, an array, CloudEvents, or a stream of NDJSON.
func (a *api) ingest(w http.ResponseWriter, r *http.Request) error {
	m, err := mediaOf(r, mediaJSON, mediaMsgpack, mediaNDJSON, mediaCloudEvent, mediaCloudEvents)
	switch {
	case err != nil:
		return err
	case m != mediaNDJSON:
		return a.publishBody(w, r, m, false)
	case isBinary(r, m):
		return invalid("ce-specversion: a stream holds many events, and the headers describe one: leave the ce- headers out, or send one event")
	case strayAttribute(r, m) != "":
		return noVersion(strayAttribute(r, m))
	}
	return a.ingestStream(w, r)
}

// publishBody publishes the events of a body that is read whole; of releases alone,
// when they need no type.
func (a *api) publishBody(w http.ResponseWriter, r *http.Request, m media, releases bool) error {
	if name := strayAttribute(r, m); name != "" {
		return noVersion(name)
	}
	t, err := a.publishing.enter()
	if err != nil {
		return err
	}
	defer t.leave()
	data, err := readBody(r, t)
	if err != nil {
		return err
	}
	body := newEventBody(m, m.encoding(data))
	body.releases, body.binary = releases, isBinary(r, m)
	if err := body.copyAttributes(r.Header); err != nil {
		return err
	}
	items, isArray, err := body.split(data)
	switch {
	case err != nil:
		return err
	case !t.more(len(items) * eventRoom):
		return noRoom()
	}
	a.publishItems(w, r, body, items, isArray)
	return nil
}

func noVersion(attribute string) error {
	return invalid("ce-specversion: is missing, and " + attribute + " is there: send \"ce-specversion: 1.0\" with it, or leave the ce- headers out")
}

func (a *api) publishItems(w http.ResponseWriter, r *http.Request, body *eventBody, items [][]byte, isArray bool) {
	results := make(listed, 0, len(items))
	p := newPublication(r.Context(), a, &results)
	for _, raw := range items {
		e, id, f := body.decode(raw)
		if f == nil {
			f = callerOf(r).checkEvent(e)
		}
		p.add(e, id, f)
	}
	p.flush()
	a.metrics.counted(p.accepted, p.rejected)
	writeResults(w, p, results, isArray)
}

// eventBody is what the headers of a request say about its events.
type eventBody struct {
	media  media
	enc    wire.Encoding
	binary bool                // one CloudEvent, whose attributes are in header
	header map[string][]string // of a message that holds one of the events
	item   []events.Item       // room for one

	releases bool // an event without a type is a release, and there is no other
}

func newEventBody(m media, enc wire.Encoding) *eventBody {
	contentType := enc.ContentType()
	if m == mediaCloudEvent || m == mediaCloudEvents {
		// Each event of a batch stands alone once it is out of its array.
		contentType = "application/cloudevents+json"
	}
	return &eventBody{media: m, enc: enc, header: map[string][]string{events.HeaderContentType: {contentType}}}
}

// split cuts a body into its events.
func (b *eventBody) split(data []byte) (items [][]byte, isArray bool, err error) {
	items, isArray, err = b.items(data)
	switch {
	case errors.Is(err, wire.ErrTrailing):
		return nil, false, undecodable(fmt.Errorf("%w, or lines as application/x-ndjson", err))
	case err != nil:
		return nil, false, undecodable(err)
	case isArray && (b.binary || b.media == mediaCloudEvent):
		return nil, false, invalid("the body is an array, but its headers say one CloudEvent: send one, or content type application/cloudevents-batch+json")
	case !isArray && b.media == mediaCloudEvents:
		return nil, false, invalid("the body is no array, but its content type is a batch: send an array of CloudEvents")
	case isArray && len(items) == 0:
		return nil, false, invalid("the array is empty: send at least one event")
	case b.releases && len(items) > maxReleases:
		return nil, false, tooLarge("the array has more than 1,000 releases: split it")
	case len(items) > maxArray:
		return nil, false, tooLarge("the array has more than 100,000 events: split it, or stream events as application/x-ndjson")
	}
	return items, isArray, nil
}

func (b *eventBody) items(data []byte) ([][]byte, bool, error) {
	if b.enc == wire.JSON {
		data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
		if json.Valid(data) {
			return splitJSON(data)
		}
	}
	v, items, err := wire.ParseItems(b.enc, data)
	if v.Kind != wire.Array {
		items = [][]byte{data}
	}
	return items, v.Kind == wire.Array, err
}

// splitJSON cuts a valid document into the items of its array. The tree that
// wire would build takes ten times the memory, and an event is parsed later,
// by itself.
func splitJSON(data []byte) (items [][]byte, isArray bool, err error) {
	if data[0] != '[' {
		return [][]byte{data}, false, nil
	}
	depth, start := 0, 1
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			i = endOfString(data, i)
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		}
		if depth == 1 && data[i] == ',' || depth == 0 {
			if item := bytes.TrimSpace(data[start:i]); len(item) > 0 {
				items = append(items, item)
			}
			start = i + 1
		}
	}
	return items, true, nil
}

// endOfString returns the place of the quote that ends the string at i.
func endOfString(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// decode reads one event, which is good until the next. When it is refused, the
// id is given if it has one.
func (b *eventBody) decode(raw []byte) (e *events.Event, id string, f *fault) {
	kind, f := b.kindOf(raw)
	if f != nil {
		return nil, b.idOf(raw), f
	}
	msg := events.Message{Subject: kind.Subject(""), Header: b.header, Data: raw}
	b.item = events.Decode(&msg, b.item[:0])
	item := &b.item[0]
	if item.Err != nil {
		f = invalid(item.Err.Message)
		f.code = string(item.Err.Reason)
		return nil, b.idOf(raw), f
	}
	return &item.Event, item.Event.ID, nil
}

// kindOf finds out what kind of event it is: its type says so, and without one
// it is a consumption, or a release where there is nothing else.
func (b *eventBody) kindOf(raw []byte) (events.Kind, *fault) {
	if !b.binary && bytes.HasPrefix(raw, []byte("[")) {
		return 0, invalid("the event is an array, not an object")
	}
	name := b.typeOf(raw)
	absent := name.Kind == wire.Absent || name.Kind == wire.Null
	kind, ok := events.ParseKind(name.Text)
	switch {
	case absent && b.releases:
		return events.Release, nil
	case absent:
		return events.Consumption, nil
	case b.releases && (name.Kind != wire.String || kind != events.Release):
		return 0, invalid("type is " + quote(name.Text) + ": here it is quota.release, or left out; POST /api/quota/events takes other events")
	case name.Kind != wire.String || !ok:
		return 0, invalid("type is " + quote(name.Text) + ": use quota.consumption, quota.saturation, quota.adjustment or quota.release")
	case kind > events.Release:
		return 0, invalid("type is " + quote(name.Text) + ", which is not published by callers: holds are asked for with POST /api/quota/decide, configuration has paths of its own")
	}
	return kind, nil
}

// typeOf returns the type that the event says it has. What does not parse has
// none: events refuses it whatever its kind, and words it.
func (b *eventBody) typeOf(raw []byte) wire.Value {
	if b.binary {
		return b.attribute("Ce-Type")
	}
	if b.enc == wire.JSON {
		if name, sure := skimType(raw); sure {
			return name
		}
	}
	return b.top(raw, "type")
}

// skimType finds the field "type" of a JSON object without parsing it, which
// would cost ten times what the rest of an event does. It is sure only of
// strings without escapes, and if the document is one at all.
func skimType(raw []byte) (name wire.Value, sure bool) {
	if bytes.IndexByte(raw, '\\') >= 0 {
		return name, false
	}
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			text, rest, _ := bytes.Cut(raw[i+1:], quoteMark)
			i += len(text) + 1
			value, isName := bytes.CutPrefix(bytes.TrimLeft(rest, jsonSpace), colon)
			if depth != 1 || !isName || string(text) != "type" {
				continue
			}
			value, isText := bytes.CutPrefix(bytes.TrimLeft(value, jsonSpace), quoteMark)
			if !isText || name.Kind != wire.Absent {
				return name, false // no string, or there twice
			}
			text, _, _ = bytes.Cut(value, quoteMark)
			name = wire.Value{Kind: wire.String, Text: string(text)}
		}
	}
	return name, true
}

const jsonSpace = " \t\r\n"

var quoteMark, colon = []byte{'"'}, []byte{':'}

// top returns a field of the outermost object, Absent when there is none.
func (b *eventBody) top(raw []byte, name string) wire.Value {
	v, _ := wire.Parse(b.enc, raw)
	var faults wire.Faults
	r, _ := wire.Read(v, "", &faults)
	return r.Get(name)
}

func (b *eventBody) idOf(raw []byte) string {
	if b.binary {
		return b.attribute("Ce-Id").Text
	}
	return b.top(raw, "id").Text
}
