package jetsource_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/projector"
)

// TestTheLeaderOfTheLogMayStop while it is written and read, and come back: all comes
// once and in its order, and nobody takes the log for another one.
func TestTheLeaderOfTheLogMayStop(t *testing.T) {
	c := brokertest.StartCluster(t)
	writer := brokertest.Connect(t, c.URLs())
	r := &rig{t: t, nc: brokertest.Connect(t, c.URLs()), js: c.Streams(writer)}
	s := r.source(projector.Position{})
	last := uint64(0)
	for _, step := range []func(){func() {}, func() { c.Stop(c.Leader(events.Stream)) }, c.StartAll} {
		step()
		r.store(50, fmt.Sprint("after ", last))
		for _, m := range r.read(s, 50) {
			if last++; m.Seq != last {
				t.Fatalf("%d comes after %d", m.Seq, last-1)
			}
		}
	}
	if strings.Contains(r.said.String(), projector.ErrLogChanged.Error()) {
		t.Errorf("said: %s", &r.said)
	}
}

// store publishes n messages, each until it is acknowledged.
func (r *rig) store(n int, text string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	for i := range n {
		id := fmt.Sprint(text, ", ", i)
		for {
			try, cancel := context.WithTimeout(ctx, time.Second)
			_, err := r.js.Publish(try, "quota.consumption", []byte(id), jetstream.WithMsgID(id))
			cancel()
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				r.t.Fatalf("%s is not stored: %v", id, err)
			}
		}
	}
}
