package intake

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/internal/brokertest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, brokertest.LostChannel)
}

func open(t *testing.T, o Options) *Intake {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	i, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return i
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// awaitStatus returns when the connection is as it shall be.
func awaitStatus(t *testing.T, nc *nats.Conn, want nats.Status) {
	t.Helper()
	turns := nc.StatusChanged(want)
	defer nc.RemoveStatusListener(turns)
	if nc.Status() == want {
		return
	}
	select {
	case <-turns:
	case <-within(t).Done():
		t.Fatalf("the connection is %s, want %s", nc.Status(), want)
	}
}

const untimed = `[{"id":"a","apiKeyId":"k","connectionId":"c"}]`

// The client would keep a message for a broker that is away, and send it beside the one
// that was kept here, with another content under the same id.
func TestWhatIsKeptComesOnce(t *testing.T) {
	b := brokertest.StartAgain(t)
	nc, js := b.Log()
	i := open(t, Options{Conn: nc, SpoolDir: t.TempDir()})
	b.Stop()
	awaitStatus(t, nc, nats.RECONNECTING)
	r, err := i.Publish(within(t), "quota.consumption", []byte(untimed), 1)
	if err != nil || !r.Spooled || r.Seq != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	b.Start()
	awaitStatus(t, nc, nats.CONNECTED)
	ctx, stop := context.WithCancel(within(t))
	done := make(chan error, 1)
	go func() { done <- i.Run(ctx) }()
	for i.spool.Stats().Messages > 0 && ctx.Err() == nil {
		continue
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	s, err := js.Stream(within(t), events.Stream)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetMsg(within(t), 1)
	if err != nil || s.CachedInfo().State.Msgs != 1 || !strings.Contains(string(m.Data), `"time":`) {
		t.Errorf("%d messages, the first %+v, %v", s.CachedInfo().State.Msgs, m, err)
	}
}

// Without a spool the caller is told, and by what the log says whether to come again.
func TestRefusals(t *testing.T) {
	b := brokertest.StartAgain(t)
	nc, _ := b.Log()
	i := open(t, Options{Conn: nc})
	if r, err := i.Publish(within(t), "quota.consumption", []byte(untimed), 1); err != nil || r.Seq != 1 || r.Spooled {
		t.Errorf("%+v, %v", r, err)
	}
	large := `["` + strings.Repeat("x", int(nc.MaxPayload())) + `"]`
	if _, err := i.Publish(within(t), "quota.consumption", []byte(large), 1); !errors.Is(err, httpapi.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	b.Stop()
	awaitStatus(t, nc, nats.RECONNECTING)
	if _, err := i.Publish(within(t), "quota.consumption", []byte(untimed), 1); !errors.Is(err, httpapi.ErrUnavailable) {
		t.Errorf("away: %v", err)
	}
}
