package questions

import (
	"testing"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

var question = []byte(`{"apiKeyId":"key-0017","connectionId":"codex-main","model":"gpt-5-codex","estimate":{"requests":1,"tokens":1800},"requestId":"01JD9Q8ZK3W0"}`)

func typicalReply() *Reply {
	r := new(Reply)
	r.Reset()
	r.DecisionID = "d-01JD9Q8ZK3W0"
	r.Allow = true
	r.Reason = "ok"
	r.ScoreFactor = quota.RatioOne
	r.HTTPStatus = 200
	r.RequestID = "01JD9Q8ZK3W0"
	r.AsOf = AsOf{Seq: 123456, Time: 1_790_000_000_123}
	r.Alternatives = append(r.Alternatives, "codex-second")
	return r
}

func BenchmarkDecode(b *testing.B) {
	for _, enc := range []wire.Encoding{wire.JSON, wire.Msgpack} {
		b.Run(enc.ContentType(), func(b *testing.B) {
			data := question
			if enc == wire.Msgpack {
				data = toMsgpack(b, string(question))
			}
			var r Request
			b.ReportAllocs()
			for b.Loop() {
				if err := r.Decode(data, enc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, enc := range []wire.Encoding{wire.JSON, wire.Msgpack} {
		b.Run(enc.ContentType(), func(b *testing.B) {
			r := typicalReply()
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = AppendReply(buf[:0], enc, r)
			}
		})
	}
}

func BenchmarkReset(b *testing.B) {
	r := typicalReply()
	for b.Loop() {
		r.Reset()
	}
}
