package projector_test

import (
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
)

// nowhere is a batch that keeps nothing.
type nowhere struct{}

func (nowhere) Set(_, _ []byte) error         { return nil }
func (nowhere) Merge(_, _ []byte) error       { return nil }
func (nowhere) Delete([]byte) error           { return nil }
func (nowhere) DeleteRange(_, _ []byte) error { return nil }
func (nowhere) Close() error                  { return nil }

// BenchmarkFold is the fold alone, of decoded events of 20 connections × 50 keys
// × 3 models over an hour, and the cuts, which go nowhere. With meters every
// connection has two; with readings every second event is one for both.
func BenchmarkFold(b *testing.B) {
	b.Run("usage", func(b *testing.B) { benchFold(b, 0, false) })
	b.Run("meters", func(b *testing.B) { benchFold(b, 20, false) })
	b.Run("readings", func(b *testing.B) { benchFold(b, 20, true) })
}

func benchFold(b *testing.B, metered int, readings bool) {
	const runs, perRun, perCut = 200, 100, 20_000
	s := projector.NewState(memstore.New())
	for i := range metered {
		fold(b, s, []events.Message{headersOf(i, 0)}, 1)
	}
	list := make([]projector.Run, runs)
	for i := range list {
		for j := range perRun {
			n := i*perRun + j
			if readings && n%2 == 1 {
				list[i].Add(headersOf(n/50%20, n))
				continue
			}
			list[i].Add(events.Message{
				Subject: "quota.consumption", Seq: uint64(n + 1), Time: start + int64(n)*180, Data: fmt.Appendf(nil,
					`{"apiKeyId":"key-%02d","connectionId":"c-%02d","model":"m-%d","provider":"kimi","cost":{"tokens":%d}}`, n%50, n/50%20, n%3, n),
			})
		}
	}
	folded := 0
	for b.Loop() {
		if err := s.Apply(&list[folded/perRun%runs]); err != nil {
			b.Fatal(err)
		}
		if folded += perRun; folded%perCut == 0 {
			if err := s.Cut(nowhere{}); err != nil {
				b.Fatal(err)
			}
			s.Committed()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(folded), "ns/event")
}

// headersOf is the headers of a response of codex, of both its windows.
func headersOf(conn, n int) events.Message {
	return events.Message{
		Subject: "quota.saturation", Seq: uint64(n + 1), Time: start + int64(n)*180, Data: fmt.Appendf(nil,
			`{"connectionId":"c-%02d","provider":"codex","status":200,"headers":{"content-type":"text/event-stream","date":"now","x-request-id":"1",`+
				`"x-codex-primary-used-percent":"%d","x-codex-primary-window-minutes":"300","x-codex-primary-reset-at":"%d",`+
				`"x-codex-secondary-used-percent":"%d","x-codex-secondary-window-minutes":"10080","x-codex-secondary-reset-at":"%[3]d"}}`,
			conn, n/250, start/1000+7200, n/1000),
	}
}
