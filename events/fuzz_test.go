package events

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// seeds calls add with the messages of all transcripts.
func seeds(f *testing.F, add func(m *Message)) {
	paths, err := filepath.Glob("testdata/transcripts/*")
	if err != nil || len(paths) == 0 {
		f.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		datadriven.RunTestFromString(&testing.T{}, string(text), func(t *testing.T, d *datadriven.TestData) string {
			if !d.HasArg("repeat") {
				add(transcriptMessage(t, d))
			}
			return d.Expected
		})
	}
}

// check holds for every message: both ways agree, there is an item with either
// an event or a reason, and every event survives being written and read.
func check(t *testing.T, m *Message) {
	items, _ := decodeBoth(t, m)
	for i := range items {
		e, err := &items[i].Event, items[i].Err
		switch {
		case err != nil && (err.Reason == "" || err.Message == ""):
			t.Fatalf("%q: a rejection without words: %+v", m.Data, err)
		case err == nil && e.Kind.IsConfig():
			again := *m
			again.Data = AppendJSON(nil, e)
			again.Header = map[string][]string{HeaderConfig: m.header(HeaderConfig)}
			if e.Document.Kind == wire.Object && hasField(e.Document, "specversion") {
				continue // an envelope in an envelope reads as one when it stands alone
			}
			if got := Decode(&again, nil)[0]; got.Err != nil || got.Event.Content() != e.Content() {
				t.Fatalf("%q, written again as %q: %v", m.Data, again.Data, got.Err)
			}
		case err == nil:
			checkRoundTrip(t, m, e)
		}
	}
}

func hasField(v wire.Value, name string) bool {
	for _, f := range v.Fields {
		if f.Name == name {
			return true
		}
	}
	return false
}

// FuzzDecodeJSON gives any bytes to every subject as JSON.
func FuzzDecodeJSON(f *testing.F) { fuzzDecode(f, wire.JSON) }

// FuzzDecodeMsgpack gives any bytes to every subject as msgpack.
func FuzzDecodeMsgpack(f *testing.F) { fuzzDecode(f, wire.Msgpack) }

func fuzzDecode(f *testing.F, enc wire.Encoding) {
	seeds(f, func(m *Message) {
		kind, _, err := ParseSubject(m.Subject)
		data := m.Data
		if v, wrong := wire.ParseJSON(data); wrong == nil && enc == wire.Msgpack {
			data = wire.AppendValue(nil, enc, v)
		}
		if err == nil {
			f.Add(uint8(kind), data)
		}
	})
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		check(t, &Message{
			Subject: Kind(kind % uint8(len(kindNames))).Subject("p"),
			Header:  map[string][]string{HeaderContentType: {enc.ContentType()}, HeaderConfig: {ConfigPut}},
			Data:    data,
		})
	})
}

// FuzzCloudEvents gives any attributes and bytes to the binary mode, and any
// content type and bytes to the others.
func FuzzCloudEvents(f *testing.F) {
	seeds(f, func(m *Message) {
		f.Add(m.first(HeaderContentType), m.first("ce-specversion"), m.first("ce-source"), m.first("ce-id"), m.first("ce-time"), m.Data)
	})
	f.Fuzz(func(t *testing.T, contentType, version, source, id, at string, data []byte) {
		header := map[string][]string{HeaderContentType: {contentType}}
		if version != "" {
			header["ce-specversion"] = []string{version}
			header["ce-type"] = []string{"quota.consumption"}
			header["ce-source"], header["ce-id"], header["ce-time"] = []string{source}, []string{id}, []string{at}
		}
		check(t, &Message{Subject: "quota.consumption", Header: header, Data: data})
	})
}

// FuzzUnescapeID checks that a token has one id and an id one token.
func FuzzUnescapeID(f *testing.F) {
	for _, s := range []string{"a", "a.b", "a:b", "*", ">", "a b", "%41", "%3A", "%3a", "%", "%2", "é", "%C3%A9", "%FF", "", "_-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := UnescapeID(s); err == nil && EscapeID(id) != s {
			t.Errorf("%q unescaped is %q, and that escaped %q", s, id, EscapeID(id))
		}
		token := EscapeID(s)
		if strings.ContainsAny(token, ".*> \t") {
			t.Errorf("%q escaped is %q", s, token)
		}
		id, err := UnescapeID(token)
		if valid := quota.ValidateID(s); valid != err || id != s {
			t.Errorf("%q: %v, escaped and back %q: %v", s, valid, id, err)
		}
	})
}

// FuzzParseRejected checks that no bytes make the parser panic and that a record
// that is read is written the same again.
func FuzzParseRejected(f *testing.F) {
	r := NewRejected(&Message{Subject: "quota.x", Header: map[string][]string{"a": {"b"}}, Seq: 1, Time: quota.MinInstant}, 0, reject(Invalid, "m"), []byte("x"))
	f.Add(r.AppendJSON(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRejected(data)
		if err != nil {
			return
		}
		again, err := ParseRejected(r.AppendJSON(nil))
		if err != nil || string(again.AppendJSON(nil)) != string(r.AppendJSON(nil)) {
			t.Errorf("%q: %v", data, err)
		}
	})
}
