package dialect

import (
	"io"
	"strings"
	"testing"
)

const benchChunk = `data: {"id":"chatcmpl-C4Hq5a6K3RaPMymUv70btQNYv6SvY","object":"chat.completion.chunk","created":1755137921,"model":"gpt-5-nano-2025-08-07","service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":" four words of text"},"finish_reason":null}],"usage":null,"obfuscation":"8"}` + "\n\n"

// BenchmarkRead reads a request as coding agents send it, of 400 KB.
func BenchmarkRead(b *testing.B) {
	turn := `{"role":"user","content":[{"type":"text","text":"` + strings.Repeat(`a line of code\n`, 120) + `"}]},`
	body := []byte(`{"model":"claude-sonnet-4-5","max_tokens":32000,"messages":[` + strings.Repeat(turn, 200) + `{}]}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(Messages, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMeter(b *testing.B) {
	m := NewMeter(Chat, 200)
	chunk := []byte(benchChunk)
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = m.Write(chunk)
	}
}

func BenchmarkStripper(b *testing.B) {
	s := NewStripper(io.Discard)
	chunk := []byte(benchChunk)
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.Write(chunk)
	}
}
