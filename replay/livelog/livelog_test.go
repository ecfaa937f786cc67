package livelog_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/jetsource"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/livelog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What is read from a broker is what a replay needs.
var (
	_ replay.Log  = (*livelog.Log)(nil)
	_ replay.Rows = (*livelog.Rows)(nil)
	_ replay.Kept = (*livelog.Rows)(nil)
)

// times are when the broker stored each message of the log, epoch ms.
func times(t *testing.T, js jetstream.JetStream) (list []int64) {
	t.Helper()
	s, err := js.Stream(t.Context(), events.Stream)
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m.Time.UnixMilli())
	}
	return list
}

func TestSeqAtIsTheLastMessageOfTheMillisecond(t *testing.T) {
	nc, js := brokertest.Start(t).Log()
	log, err := livelog.NATSLog(livelog.NATSOptions{Conn: nc})
	if err != nil {
		t.Fatal(err)
	}
	if seq, err := log.SeqAt(t.Context(), time.Now().UnixMilli()); seq != 0 || err != nil {
		t.Errorf("of an empty log: %d, %v", seq, err)
	}
	if first, last, err := log.Bounds(t.Context()); first != 1 || last != 0 || err != nil {
		t.Errorf("bounds of an empty log: %d, %d, %v", first, last, err)
	}
	var end uint64
	for range 60 { // several in a millisecond
		ack, err := js.Publish(t.Context(), "quota.due", []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		end = ack.Sequence
	}
	list := times(t, js)
	for at := list[0] - 2; at <= list[end-1]+2; at++ {
		want := uint64(0)
		for i, stored := range list {
			if stored <= at {
				want = uint64(i + 1)
			}
		}
		if got, err := log.SeqAt(t.Context(), at); got != want || err != nil {
			t.Errorf("at %d: %d, %v, want %d", at, got, err, want)
		}
	}
	for at, want := range map[int64]uint64{
		math.MinInt64: 0, -30_000_000_000_000: 0, -1: 0, 9_999_999_999_999: end, 16_725_225_600_000: end, math.MaxInt64: end,
	} {
		if got, err := log.SeqAt(t.Context(), at); got != want || err != nil {
			t.Errorf("at %d: %d, %v, want %d", at, got, err, want)
		}
	}
	if first, last, err := log.Bounds(t.Context()); first != 1 || last != end || err != nil {
		t.Errorf("bounds: %d, %d, %v", first, last, err)
	}
}

// TestABrokerThatStaysAwayEndsAnAudit, which would else fold on for ever.
func TestABrokerThatStaysAwayEndsAnAudit(t *testing.T) {
	broker := brokertest.StartAgain(t)
	nc, js := broker.Log()
	if _, err := js.Publish(t.Context(), "quota.due", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	log, err := livelog.NATSLog(livelog.NATSOptions{Conn: nc, Patience: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	source, end, err := log.From(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	broker.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), livelog.Patience/2)
	defer cancel()
	if _, err := source.Next(ctx); !errors.Is(err, jetsource.ErrAway) {
		t.Errorf("it ended with %v", err)
	}
}

// TestWhatWasPurgedIsNoErrorOfAnAudit: its result says what is missing.
func TestWhatWasPurgedIsNoErrorOfAnAudit(t *testing.T) {
	nc, js := brokertest.Start(t).Log()
	for range 3 {
		if _, err := js.Publish(t.Context(), "quota.due", []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := js.Stream(t.Context(), events.Stream)
	if err = errors.Join(err, stream.DeleteMsg(t.Context(), 2)); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	log, err := livelog.NATSLog(livelog.NATSOptions{Conn: nc, Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	source, end, err := log.Source(t.Context(), projector.Position{})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for read := 0; read < 2; {
		got, err := source.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		read += len(got.List)
	}
	if said.Len() > 0 {
		t.Errorf("it says %s", &said)
	}
}
