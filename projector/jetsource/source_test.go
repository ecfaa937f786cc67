package jetsource_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/ingest"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/jetsource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, brokertest.LostChannel) }

// rig is an embedded log that can be stopped and started again.
type rig struct {
	t    *testing.T
	dir  string
	addr string
	srv  *ingest.Server
	nc   *nats.Conn
	js   jetstream.JetStream
	said bytes.Buffer
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, dir: filepath.Join(t.TempDir(), "log"), addr: brokertest.FreeAddr(t)}
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// start starts the log where it was before.
func (r *rig) start() {
	r.t.Helper()
	var err error
	r.srv, err = ingest.Start(ingest.Options{Dir: r.dir, Addr: r.addr, Sync: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	r.must(err)
	r.addr = strings.TrimPrefix(r.srv.ClientURL(), "nats://")
	if r.nc == nil {
		r.nc, err = nats.Connect(r.srv.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
		r.must(err)
		r.js, err = jetstream.New(r.nc)
		r.must(err)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	for !r.nc.IsConnected() {
		select {
		case <-r.nc.StatusChanged(nats.CONNECTED):
		case <-ctx.Done():
			r.t.Fatal("no connection")
		}
	}
	_, err = ingest.EnsureStreams(ctx, r.js, ingest.Configs(14, 1))
	r.must(err)
}

// halt stops the server alone: the connection stays, has noticed, and waits. It may have
// been lost and there again while the server was stopping, so it is asked, and not told.
func (r *rig) halt() {
	r.t.Helper()
	r.must(r.srv.Shutdown())
	for r.nc.IsConnected() {
		runtime.Gosched()
	}
}

func (r *rig) stop() {
	r.nc.Close()
	r.halt()
}

// publish stores n messages and returns the last one's sequence.
func (r *rig) publish(n int, text string) (last uint64) {
	r.t.Helper()
	for i := range n {
		ack, err := r.js.Publish(r.t.Context(), "quota.consumption", fmt.Appendf(nil, "%s %d", text, i))
		r.must(err)
		last = ack.Sequence
	}
	return last
}

func (r *rig) source(after projector.Position) *jetsource.Source {
	r.t.Helper()
	s, err := jetsource.New(jetsource.Options{
		Conn: r.nc, Stream: events.Stream, After: after, PurgeAge: time.Hour,
		Log: slog.New(slog.NewTextHandler(&r.said, nil)),
	})
	r.must(err)
	r.t.Cleanup(s.Close)
	return s
}

// read reads until n messages have come, and returns them.
func (r *rig) read(s *jetsource.Source, n int) []events.Message {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	var all []events.Message
	for len(all) < n {
		got, err := s.Next(ctx)
		r.must(err)
		all = append(all, got.List...)
	}
	if len(all) != n {
		r.t.Fatalf("%d messages, want %d", len(all), n)
	}
	return all
}

// fails reads until an error and checks it.
func (r *rig) fails(s *jetsource.Source, want error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	for {
		got, err := s.Next(ctx)
		if err != nil {
			if !errors.Is(err, want) {
				r.t.Fatalf("Next: %v, want %v", err, want)
			}
			return
		}
		if len(got.List) > 0 {
			r.t.Fatalf("Next gave message %d of a log that had changed", got.List[0].Seq)
		}
	}
}

// at is the position of a message that was read.
func at(m events.Message) projector.Position {
	return projector.Position{Seq: m.Seq, Time: m.Time, Hash: projector.HashOf(&m)}
}

// TestReadsInOrderFromAPosition: more than one pull, from the start and from
// the middle, and what comes later.
func TestReadsInOrderFromAPosition(t *testing.T) {
	r := newRig(t)
	s := r.source(projector.Position{})
	r.publish(3, "a")
	all := r.read(s, 3)
	js, err := jetstream.New(r.nc, jetstream.WithPublishAsyncMaxPending(20_000))
	r.must(err)
	const many = 10_000
	for i := range many {
		_, err := js.PublishAsync("quota.consumption", fmt.Appendf(nil, "b %d", i))
		r.must(err)
	}
	<-js.PublishAsyncComplete()
	all = append(all, r.read(s, many)...)
	for i, m := range all {
		if m.Seq != uint64(i+1) || m.Subject != "quota.consumption" || m.Time == 0 {
			t.Fatalf("message %d: %d %s", i, m.Seq, m.Subject)
		}
	}
	if got := string(all[many+2].Data); got != fmt.Sprintf("b %d", many-1) {
		t.Errorf("the last message is %q", got)
	}
	middle := r.source(at(all[4999]))
	if got := r.read(middle, many+3-5000); got[0].Seq != 5001 {
		t.Errorf("after 5000 comes %d", got[0].Seq)
	}
}

// TestLargeMessagesEndAPullEarly: a pull is bounded in bytes too.
func TestLargeMessagesEndAPullEarly(t *testing.T) {
	r := newRig(t)
	s := r.source(projector.Position{})
	big := bytes.Repeat([]byte("x"), 900_000)
	for range 60 { // 54 MB, more than three pulls of 16 MiB
		_, err := r.js.Publish(t.Context(), "quota.consumption", big)
		r.must(err)
	}
	r.read(s, 60)
	if strings.Contains(r.said.String(), "WARN") {
		t.Errorf("said: %s", r.said.String())
	}
}

// TestResumesAfterTheBrokerRestarts with nothing lost and nothing twice.
func TestResumesAfterTheBrokerRestarts(t *testing.T) {
	r := newRig(t)
	s := r.source(projector.Position{})
	r.publish(5, "a")
	r.read(s, 5)
	r.halt()
	r.start()
	r.publish(5, "b")
	if got := r.read(s, 5); got[0].Seq != 6 {
		t.Errorf("after the restart comes %d, want 6", got[0].Seq)
	}
}

// copyDir copies a stopped log.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// TestAnotherLogIsNotFoldedOn: emptied, replaced, or rolled back and written
// on past its old end. The creation time of the last is that of the old one.
func TestAnotherLogIsNotFoldedOn(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(r *rig)
	}{
		{"emptied", func(r *rig) {
			r.halt()
			r.must(os.RemoveAll(r.dir))
			r.start()
		}},
		{"replaced", func(r *rig) {
			r.halt()
			r.must(os.RemoveAll(r.dir))
			r.start()
			r.publish(9, "other")
		}},
		{"rolled back", func(r *rig) {
			r.halt()
			copyDir(r.t, r.dir+".old", r.dir)
			r.start()
		}},
		{"rolled back and written on", func(r *rig) {
			r.halt()
			copyDir(r.t, r.dir+".old", r.dir)
			r.start()
			r.publish(9, "other")
		}},
		{"rolled back and written to the same length", func(r *rig) {
			r.halt()
			copyDir(r.t, r.dir+".old", r.dir)
			r.start()
			r.publish(2, "b") // the same bodies at another time
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.publish(3, "a")
			r.halt()
			copyDir(t, r.dir, r.dir+".old")
			r.start()
			r.publish(2, "b")
			connected := r.source(projector.Position{})
			all := r.read(connected, 5)
			c.change(r)
			r.fails(connected, projector.ErrLogChanged)
			r.fails(r.source(at(all[4])), projector.ErrLogChanged)
		})
	}
}

// TestHashAndTimeAreCompared, each alone.
func TestHashAndTimeAreCompared(t *testing.T) {
	r := newRig(t)
	r.publish(2, "a")
	all := r.read(r.source(projector.Position{}), 2)
	p := at(all[1])
	p.Hash[0]++
	r.fails(r.source(p), projector.ErrLogChanged)
	p = at(all[1])
	p.Time++
	r.fails(r.source(p), projector.ErrLogChanged)
}

// TestPurgedMessages: a last message that is gone is a fault while the stream
// should still have it. Older, it may have been purged, and the log goes on.
func TestPurgedMessages(t *testing.T) {
	r := newRig(t)
	r.publish(5, "a")
	all := r.read(r.source(projector.Position{}), 5)
	stream, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	r.must(stream.Purge(t.Context(), jetstream.WithPurgeSequence(4)))
	r.fails(r.source(at(all[1])), projector.ErrLogChanged)
	old := at(all[1])
	old.Time -= 2 * time.Hour.Milliseconds()
	if got := r.read(r.source(old), 2); got[0].Seq != 4 {
		t.Errorf("goes on at %d, want 4", got[0].Seq)
	}
	r.must(stream.Purge(t.Context()))
	r.fails(r.source(at(all[4])), projector.ErrLogChanged)
	old = at(all[4])
	old.Time -= 2 * time.Hour.Milliseconds()
	s := r.source(old)
	r.publish(1, "b")
	if got := r.read(s, 1); got[0].Seq != 6 {
		t.Errorf("goes on at %d, want 6", got[0].Seq)
	}
}

// TestDeletedMessagesAreSaid: somebody edited the log in the middle.
func TestDeletedMessagesAreSaid(t *testing.T) {
	r := newRig(t)
	r.publish(5, "a")
	stream, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	r.must(stream.DeleteMsg(t.Context(), 3))
	r.read(r.source(projector.Position{}), 4)
	if !strings.Contains(r.said.String(), "from=3 before=4") {
		t.Errorf("said: %s", r.said.String())
	}
}

// TestNewestMessageDeleted: there is nothing to read at, and waiting for the
// next message to say so would keep a decider silent until somebody publishes.
func TestNewestMessageDeleted(t *testing.T) {
	r := newRig(t)
	r.publish(2, "a")
	all := r.read(r.source(projector.Position{}), 2)
	stream, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	r.must(stream.DeleteMsg(t.Context(), 2))
	r.fails(r.source(at(all[1])), projector.ErrLogChanged)
}

// TestExpiredMessages: the broker forgets a message with a Nats-TTL by itself,
// which is no sign of another log, at the end of it or before more.
func TestExpiredMessages(t *testing.T) {
	r := newRig(t)
	r.publish(1, "a")
	m := nats.NewMsg("quota.consumption")
	m.Header.Set(events.HeaderTTL, "1h")
	_, err := r.js.PublishMsg(t.Context(), m)
	r.must(err)
	connected := r.source(projector.Position{})
	all := r.read(connected, 2)
	r.read(r.source(at(all[1])), 0) // while it is there
	stream, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	r.must(stream.DeleteMsg(t.Context(), 2)) // as its end would
	restarted := r.source(at(all[1]))
	got, err := restarted.Next(t.Context())
	r.must(err)
	if len(got.List) != 0 || got.Pending != 0 {
		t.Fatalf("with nothing after it: %+v", got)
	}
	r.halt()
	r.start()
	r.publish(1, "b")
	for _, s := range []*jetsource.Source{connected, restarted, r.source(at(all[1]))} {
		if got := r.read(s, 1); got[0].Seq != 3 {
			t.Errorf("goes on at %d, want 3", got[0].Seq)
		}
	}
}

// TestMessagesThatLookLikeAStatus: an empty message may have any header, and is
// read like every other; else one would stop the fold for good.
func TestMessagesThatLookLikeAStatus(t *testing.T) {
	r := newRig(t)
	for _, code := range []string{"100", "408", "409", "503"} {
		m := nats.NewMsg("quota.consumption")
		m.Header.Set("Status", code)
		m.Header.Set("Description", "Batch Completed")
		m.Header.Set("Nats-Pending-Messages", "1000000")
		_, err := r.js.PublishMsg(t.Context(), m)
		r.must(err)
	}
	r.publish(1, "a")
	for i, m := range r.read(r.source(projector.Position{}), 5) {
		if m.Seq != uint64(i+1) {
			t.Errorf("message %d has sequence %d", i+1, m.Seq)
		}
	}
}

// TestPendingMessagesThatArePurged do not stay pending.
func TestPendingMessagesThatArePurged(t *testing.T) {
	r := newRig(t)
	r.publish(2, "a")
	s := r.source(projector.Position{})
	got, err := s.Next(t.Context())
	r.must(err)
	if got.Pending != 2 {
		t.Fatalf("%d pending, want 2", got.Pending)
	}
	stream, err := r.js.Stream(t.Context(), events.Stream)
	r.must(err)
	big := bytes.Repeat([]byte("x"), 900_000)
	for range 40 { // more than the pulls under way bring
		_, err := r.js.Publish(t.Context(), "quota.consumption", big)
		r.must(err)
	}
	r.must(stream.Purge(t.Context()))
	for got.Pending > 0 || len(got.List) > 0 {
		got, err = s.Next(t.Context())
		r.must(err)
	}
}

// TestWordsOfLife: with nothing to read, heartbeats come as empty lists.
func TestWordsOfLife(t *testing.T) {
	r := newRig(t)
	s := r.source(projector.Position{})
	for range 3 {
		got, err := s.Next(t.Context())
		r.must(err)
		if len(got.List) != 0 || got.Pending != 0 {
			t.Fatalf("from an empty log: %+v", got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next after the end: %v", err)
	}
}
