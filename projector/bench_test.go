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
// × 3 models over an hour, and the cuts, which go nowhere.
func BenchmarkFold(b *testing.B) {
	const runs, perRun, perCut = 200, 100, 20_000
	list := make([]projector.Run, runs)
	for i := range list {
		for j := range perRun {
			n := i*perRun + j
			list[i].Add(events.Message{
				Subject: "quota.consumption", Seq: uint64(n + 1), Time: start + int64(n)*180, Data: fmt.Appendf(nil,
					`{"apiKeyId":"key-%02d","connectionId":"c-%02d","model":"m-%d","provider":"kimi","cost":{"tokens":%d}}`, n%50, n/50%20, n%3, n),
			})
		}
	}
	s := projector.NewState(memstore.New())
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
