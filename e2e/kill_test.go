package e2e

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/internal/brokertest"
)

// kills is how often a test kills.
func kills() int {
	if long() {
		return 50
	}
	return 10
}

// A process that is killed at any moment loses nothing that was acknowledged
// and counts nothing twice.
func TestKilledWhilePublishersSend(t *testing.T) {
	d, dir := dice(t), t.TempDir()
	addr := brokertest.FreeAddr(t)
	p := upAt(t, dir, addr, "127.0.0.1:0")
	nc := brokertest.Connect(t, p.nats)
	configure(t, jetStream(t, nc))
	pub := startPublishers(t, p.nats, d)
	for range kills() {
		pub.await(d.IntN(400))
		p.kill()
		p = upAt(t, dir, addr, "127.0.0.1:0")
		if d.IntN(3) == 0 {
			continue // killed again while it catches up
		}
		p.awaitReady()
	}
	p.awaitReady()
	list, last := pub.finish()
	t.Logf("%d events, last sequence %d", len(list), last)
	mustBeAsAcknowledged(t, p, list, last)
}

// Only the decider is killed; the log lives on and grows meanwhile.
func TestKilledDecider(t *testing.T) {
	d := dice(t)
	front := start(t, "ingest", "--data-dir", t.TempDir(), "--nats-addr", brokertest.FreeAddr(t), "--http-addr", "127.0.0.1:0", "--sync", "100ms")
	args := []string{"--data-dir", t.TempDir(), "--store-nats-url", front.nats, "--http-addr", "127.0.0.1:0"}
	p := start(t, "decider", args...)
	nc := brokertest.Connect(t, front.nats)
	configure(t, jetStream(t, nc))
	pub := startPublishers(t, front.nats, d)
	for range kills() {
		pub.await(d.IntN(400))
		p.kill()
		pub.await(d.IntN(50))
		p = start(t, "decider", args...)
		if d.IntN(3) > 0 {
			p.awaitReady()
		}
	}
	p.awaitReady()
	list, last := pub.finish()
	t.Logf("%d events, last sequence %d", len(list), last)
	mustBeAsAcknowledged(t, p, list, last)
	p.stop()
	front.stop()
}

// mustBeAsAcknowledged compares the process's totals with what was acknowledged
// and its state with what the log gives from scratch.
func mustBeAsAcknowledged(t *testing.T, p *process, list []usage, last uint64) {
	t.Helper()
	nc := brokertest.Connect(t, p.nats)
	// Copies of what was sent twice may still arrive behind the last
	// acknowledged message; with their publishers' connections closed or
	// flushed no more can come.
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	got := p.at(last)
	mustCount(t, nc, list)
	mustEqualFreshFold(t, nc, got.http())
	if got.Counts.Folded != uint64(len(list))+2 { // the pool and the plan
		t.Errorf("%d events are folded, want %d", got.Counts.Folded, len(list)+2)
	}
	mustKeepRejected(t, jetStream(t, nc), got.Counts.Rejected)
}

// mustKeepRejected waits until QUOTA_REJECTED has what the fold rejected, each
// once, however often programs were killed on the way.
func mustKeepRejected(t *testing.T, js jetstream.JetStream, want uint64) {
	t.Helper()
	if want == 0 {
		t.Error("nothing was rejected, and every publisher sent something that is no event")
	}
	ctx := deadline(t)
	s, err := js.Stream(ctx, "QUOTA_REJECTED")
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.CreateConsumer(ctx, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
	if err != nil {
		t.Fatal(err)
	}
	for n := uint64(0); n < want; n++ {
		m, err := all.Next(jetstream.FetchMaxWait(patience))
		if err != nil {
			t.Fatalf("QUOTA_REJECTED has %d messages, want %d: %v", n, want, err)
		}
		var r rejection
		decode(t, string(m.Data()), &r)
		if r.Reason != "undecodable" || !strings.HasSuffix(string(r.Data), "is no event") {
			t.Errorf("rejected: %+v", r)
		}
	}
	info, err := s.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if info.State.Msgs != want || info.State.NumSubjects != want {
		t.Errorf("QUOTA_REJECTED has %d messages on %d subjects, want %d", info.State.Msgs, info.State.NumSubjects, want)
	}
}

func (s state) http() httpapi.State {
	return httpapi.State{AppliedSeq: s.AppliedSeq, LastSeq: s.LastSeq, Digest: s.Digest, Counts: httpapi.Counts(s.Counts)}
}
