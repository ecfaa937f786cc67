package decider

import (
	"context"
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
)

// BenchmarkDecide is a question without a broker: one that is allowed, and one
// that is blocked and listed among the newest blocks.
func BenchmarkDecide(b *testing.B) {
	for name, used := range map[string]string{"allow": "1", "block": "2000"} {
		b.Run(name, func(b *testing.B) {
			e := engineOf(b, used)
			qs, rs := []questions.Question{{APIKeyID: "alice", ConnectionID: "c", Model: "m"}}, make([]questions.Reply, 1)
			b.ReportAllocs()
			for b.Loop() {
				rs[0].Reset()
				e.Decide(context.Background(), qs, rs)
			}
			if rs[0].Err != nil || rs[0].Allow != (name == "allow") {
				b.Fatalf("%+v", rs[0])
			}
		})
	}
}

// engineOf returns an engine over a state in memory in which a key used that
// many requests of 1,500.
func engineOf(b *testing.B, used string) *Engine {
	store := memstore.New()
	s := projector.NewState(store)
	const now = 1_790_000_000_000
	run := new(projector.Run)
	run.Add(events.Message{
		Subject: "quota.config.pool.p", Header: map[string][]string{events.HeaderConfig: {events.ConfigPut}},
		Data: plans.AppendPoolJSON(nil, team("p", "c")), Seq: 1, Time: now,
	})
	run.Add(events.Message{Subject: "quota.consumption", Data: []byte(`{"apiKeyId":"alice","connectionId":"c","cost":{"requests":` + used + `}}`), Seq: 2, Time: now})
	if err := s.Apply(run); err != nil {
		b.Fatal(err)
	}
	e, err := New(Options{Conn: new(nats.Conn), Settings: plans.DefaultSettings(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	e.now = func() int64 { return now }
	e.current.Store(&projection{state: s, loop: projector.NewLoop(s, store, nil)})
	return e
}
