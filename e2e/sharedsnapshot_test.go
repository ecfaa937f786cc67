package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// A decider with an empty directory begins from the snapshot that another one stored
// in the broker: it has everything, though the log has only what came after.
func TestANewDeciderBeginsFromTheBrokersSnapshot(t *testing.T) {
	first := up(t, t.TempDir())
	for i := range 30 {
		first.mustCall("POST", "/api/quota/events", fmt.Sprintf(`{"apiKeyId":"key-%d","connectionId":"c","cost":{"tokens":%d}}`, i%7, 10+i))
	}
	var answer struct{ Snapshot struct{ Seq uint64 } }
	decode(t, first.mustCall("POST", "/api/quota/snapshots", ""), &answer)
	taken := answer.Snapshot
	first.stderr.await(deadline(t), t, fmt.Sprintf("stored a snapshot in the broker seq=%d ", taken.Seq))
	js := jetStream(t, brokertest.Connect(t, first.nats))
	stream, err := js.Stream(deadline(t), "QUOTA")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(deadline(t), jetstream.WithPurgeSequence(taken.Seq)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		first.mustCall("POST", "/api/quota/events", `{"apiKeyId":"key-1","connectionId":"c","cost":{"tokens":1}}`)
	}

	second := start(t, "decider", "--data-dir", t.TempDir(), "--store-nats-url", first.nats, "--http-addr", "127.0.0.1:0")
	second.awaitReady()
	want := first.at(taken.Seq + 3)
	if got := second.at(want.AppliedSeq); got.Digest != want.Digest || got.Counts.Folded != 33 {
		t.Errorf("it is at %+v, and the first at %+v", got, want)
	}
	if got := second.mustCall("GET", "/metrics", ""); !strings.Contains(got, `quotashare_broker_snapshots_total{outcome="fetched"} 1`) {
		t.Errorf("the metrics do not say that it fetched one:\n%s", got)
	}
}
