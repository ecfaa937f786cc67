package intake

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/ingest/groups"
	"github.com/quotashare/quotashare/internal/brokertest"
)

// mustShow compares figures, named "messages_total stored", with those of an intake.
// Of a histogram it is how often it was used.
func mustShow(t *testing.T, i *Intake, want map[string]float64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	if err := registry.Register(i); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "quotashare_")
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			got[name+" sum"] = m.GetHistogram().GetSampleSum()
		}
	}
	for name, n := range want {
		if have, ok := got[name]; !ok || have != n {
			t.Errorf("%s is %v, want %v", name, have, n)
		}
	}
}

// TestMessagesAreCountedByWhatTheLogSaid.
func TestMessagesAreCountedByWhatTheLogSaid(t *testing.T) {
	b := brokertest.StartAgain(t)
	nc, _ := b.Log()
	i := open(t, Options{Conn: nc, SpoolDir: t.TempDir(), SpoolBytes: 400})
	publish := func(array string, n int) error {
		_, err := i.Publish(within(t), "quota.consumption", []byte(array), n)
		return err
	}
	for range 4 {
		if err := publish(untimed, 1); err != nil { // all are the first
			t.Error(err)
		}
	}
	if err := publish("["+strings.Repeat(untimed[1:len(untimed)-1]+",", 2)+"{}]", 3); err != nil {
		t.Error(err)
	}
	if err := publish(`["`+strings.Repeat("x", int(nc.MaxPayload()))+`"]`, 1); !errors.Is(err, httpapi.ErrTooLarge) {
		t.Error(err)
	}
	b.Stop()
	awaitStatus(t, nc, nats.RECONNECTING)
	if err := publish(untimed, 1); err != nil {
		t.Error(err)
	}
	if err := publish(`["`+strings.Repeat("x", 400)+`"]`, 1); !errors.Is(err, httpapi.ErrBusy) {
		t.Errorf("more than the spool has room for: %v", err)
	}
	mustShow(t, i, map[string]float64{
		"publish_messages_total stored": 2, "publish_messages_total duplicate": 3, "publish_messages_total refused": 1, "publish_messages_total away": 1,
		"publish_seconds": 7, "publish_message_events": 7, "publish_message_events sum": 9,
		"publish_full_total memory": 0, "publish_full_total spool": 1, "spool_events": 1, "spool_limit_bytes": 400,
	})
}

// stuck is a log that takes its time.
type stuck struct{ came, leave chan struct{} }

func (s stuck) Publish(context.Context, *groups.Message) (groups.Receipt, error) {
	s.came <- struct{}{}
	<-s.leave
	return groups.Receipt{Seq: 1}, nil
}

// TestWhoFindsNoRoomInMemoryIsCounted.
func TestWhoFindsNoRoomInMemoryIsCounted(t *testing.T) {
	nc, _ := brokertest.Start(t).Log()
	i := open(t, Options{Conn: nc})
	log := stuck{make(chan struct{}, 2), make(chan struct{})}
	i.groups = groups.New(groups.Options{Log: log, Waiting: 1})
	done := make(chan error, 2)
	publish := func() {
		_, err := i.Publish(within(t), "quota.consumption", []byte(untimed), 1)
		done <- err
	}
	go publish()
	<-log.came // it is on its way
	go publish()
	for i.groups.Waiting() == 0 {
		continue
	}
	mustShow(t, i, map[string]float64{"publish_waiting_bytes": float64(len(untimed)), "publish_full_total memory": 0})
	if _, err := i.Publish(within(t), "quota.consumption", []byte(untimed), 1); !errors.Is(err, httpapi.ErrBusy) {
		t.Errorf("more than memory has room for: %v", err)
	}
	close(log.leave)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	mustShow(t, i, map[string]float64{"publish_waiting_bytes": 0, "publish_full_total memory": 1, "publish_full_total spool": 0})
}
