package decider

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// BenchmarkReserve asks from 256 goroutines at once, over an embedded broker that
// syncs every 100 ms, without NATS between the callers and the engine.
func BenchmarkReserve(b *testing.B) {
	srv, err := ingest.Start(ingest.Options{Dir: b.TempDir(), Addr: "127.0.0.1:-1", Sync: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Shutdown()
	nc, err := nats.Connect(srv.ClientURL())
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := ingest.EnsureStreams(b.Context(), js, ingest.Configs(14, 1)); err != nil {
		b.Fatal(err)
	}
	e, err := New(Options{Conn: nc, Dir: b.TempDir() + "/state", Version: "0.0.1", Settings: plans.DefaultSettings(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	defer func() {
		cancel()
		if err, _ := came(b, done, "the end of the engine"); err != nil {
			b.Error(err)
		}
	}()
	ready, giveUp := context.WithTimeout(ctx, patience)
	defer giveUp()
	if err := e.AwaitReady(ready); err != nil {
		b.Fatal(err)
	}
	const inFlight = 256
	var asked, late atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for i := range inFlight {
		all.Go(func() {
			qs := []questions.Question{{APIKeyID: fmt.Sprintf("key-%d", i%17), ConnectionID: "c", Model: "m", Reserve: true, LeaseMs: 1000, MaxWaitMs: 10_000, Estimate: quota.Amounts{quota.Tokens: 1800_000}}}
			rs := make([]questions.Reply, 1)
			for asked.Add(1) <= int64(b.N) {
				rs[0].Reset()
				e.Decide(ctx, qs, rs)
				if len(rs[0].Degraded) > 0 {
					late.Add(1)
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(late.Load()), "late")
}
