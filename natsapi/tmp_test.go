package natsapi

import (
	"testing"
	"sync"

	"github.com/quotashare/quotashare/wire"
	"github.com/quotashare/quotashare/questions"
)

func BenchmarkParts(b *testing.B) {
	b.Run("detect", func(b *testing.B) { for b.Loop() { wire.Detect("", '{') } })
	b.Run("contentType", func(b *testing.B) { for b.Loop() { contentType(nil) } })
	p := sync.Pool{New: func() any { return new(call) }}
	b.Run("pool", func(b *testing.B) { for b.Loop() { p.Put(p.Get()) } })
	var r questions.Request
	b.Run("decode", func(b *testing.B) { for b.Loop() { r.Decode(benchQuestion, wire.JSON) } })
	rs := make([]questions.Reply, 1)
	b.Run("decide", func(b *testing.B) { for b.Loop() { rs[0].Reset(); allowing{}.Decide(nil, r.Questions, rs) } })
	var buf []byte
	b.Run("append", func(b *testing.B) { for b.Loop() { buf = r.Append(buf[:0], wire.JSON, rs) } })
}
