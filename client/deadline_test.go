package client

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/wire"
)

func TestMaxWaitLeavesTimeForTheWay(t *testing.T) {
	for _, tt := range []struct {
		timeout, asked time.Duration
		least, most    int64
	}{
		{DefaultTimeout, 0, 100, 187},
		{2 * time.Second, 0, 1500, 1900},
		{2 * time.Second, 50 * time.Millisecond, 50, 50},
		{time.Second, 2 * time.Hour, 500, 900},
		{2 * time.Hour, 0, questions.MaxMaxWaitMs, questions.MaxMaxWaitMs},
		{-time.Second, 0, 0, 0},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
		got := maxWait(ctx, tt.asked)
		deadline, _ := ctx.Deadline()
		passed := (tt.timeout - time.Until(deadline)).Milliseconds() + 1
		if got < tt.least-passed || got > tt.most {
			t.Errorf("of %s, asked for %s: %d ms, want %d to %d, less the %d ms that have passed", tt.timeout, tt.asked, got, tt.least, tt.most, passed)
		}
		cancel()
	}
}

// slow is a transport whose first answer takes a part of the time, and is none.
type slow struct {
	transport

	asked [][]byte
}

func (s *slow) ask(ctx context.Context, subject string, body []byte) ([]byte, error) {
	s.asked = append(s.asked, slices.Clone(body))
	if len(s.asked) == 1 {
		<-time.After(50 * time.Millisecond) // passing time is what this is about
		return []byte(`{"error":{"code":"too-large","message":"m"}}`), nil
	}
	return nil, errNoResponders
}

// TestLaterMessagesWaitLess: of one deadline for all, some has passed.
func TestLaterMessagesWaitLess(t *testing.T) {
	b := startBroker(t)
	o, err := Options{Conn: b.Connect(), Timeout: 20 * time.Second, Logger: slog.New(slog.DiscardHandler)}.prepare()
	must(t, err)
	way, err := newOverNATS(&o)
	must(t, err)
	s := &slow{transport: way}
	c := begin(o, s, nil)
	defer func() { must(t, c.Close(within(t))) }()
	c.DecideBatch(within(t), slices.Repeat([]Question{about("r", 1)}, 1500))
	var waits []int64
	for _, body := range s.asked {
		var r questions.Request
		if err := r.Decode(body, wire.JSON); err != nil {
			t.Fatal(err)
		}
		waits = append(waits, r.Questions[0].MaxWaitMs)
	}
	if len(waits) != 4 || slices.Max(waits[1:]) > waits[0]-45 {
		t.Errorf("the engine may wait %d ms in four messages, of which the first took 50", waits)
	}
}
