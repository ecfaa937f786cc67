package events

import (
	"encoding/json"
	"testing"

	"github.com/quotashare/quotashare/wire"
)

const typical = `{"id":"01JZX9V7QK3W8","time":"2026-08-14T09:30:15.250Z","apiKeyId":"team-a","connectionId":"codex-main","model":"gpt-5-codex","requestId":"req-8f14e45f","cost":{"tokens":18250,"usd":"0.0421"}}`

func benchMessages(b *testing.B) (jsonMessage, msgpackMessage *Message) {
	jsonMessage = &Message{Subject: "quota.consumption", Data: []byte(typical)}
	items := Decode(jsonMessage, nil)
	if items[0].Err != nil {
		b.Fatal(items[0].Err)
	}
	msgpackMessage = &Message{Subject: "quota.consumption", Data: AppendMsgpack(nil, &items[0].Event)}
	return jsonMessage, msgpackMessage
}

func BenchmarkDecode(b *testing.B) {
	jsonMessage, msgpackMessage := benchMessages(b)
	run := func(name string, m *Message) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var items []Item
			for b.Loop() {
				items = Decode(m, items[:0])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(items)), "ns/event")
		})
	}
	run("json", jsonMessage)
	run("msgpack", msgpackMessage)
	array := []byte("[")
	for i := range 500 {
		if i > 0 {
			array = append(array, ',')
		}
		array = append(array, typical...)
	}
	run("json-500", &Message{Subject: "quota.consumption", Data: append(array, ']')})
	run("tree", &Message{Subject: "quota.consumption", Data: []byte(typical[:len(typical)-1] + `,"x":{}}`)})
}

// BenchmarkLibraries is what the libraries need for the same bytes.
func BenchmarkLibraries(b *testing.B) {
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var doc struct {
				ID, Time, APIKeyID, ConnectionID, Model, RequestID string
				Cost                                               map[string]any
			}
			if err := json.Unmarshal([]byte(typical), &doc); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkHashes(b *testing.B) {
	m, _ := benchMessages(b)
	e := Decode(m, nil)[0].Event
	b.Run("identity", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.Identity()
		}
	})
	b.Run("content", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.Content()
		}
	})
	b.Run("message", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Hash(m)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	m, _ := benchMessages(b)
	e := Decode(m, nil)[0].Event
	for _, enc := range []wire.Encoding{wire.JSON, wire.Msgpack} {
		b.Run(enc.ContentType(), func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf = Append(buf[:0], enc, &e)
			}
		})
	}
}
