package intake

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/internal/brokertest"
)

// narrow is an intake at somebody else's broker, which takes 64 KiB.
func narrow(t *testing.T) (*Intake, jetstream.JetStream) {
	t.Helper()
	nc := brokertest.Connect(t, brokertest.Foreign(t, &server.Options{MaxPayload: 64 << 10}))
	return open(t, Options{Conn: nc, SpoolDir: t.TempDir()}), brokertest.Streams(t, nc)
}

// array has n events of about 1.5 KB, and a model of so many bytes in one more.
func array(caller, n, large int) []byte {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id":"%d-%d","apiKeyId":"k","connectionId":"c","model":"%s"}`, caller, i, strings.Repeat("m", 1500)))
	}
	if large > 0 {
		list = append(list, fmt.Sprintf(`{"id":"%d-large","apiKeyId":"k","connectionId":"c","model":"%s"}`, caller, strings.Repeat("m", large)))
	}
	return []byte("[" + strings.Join(list, ",") + "]")
}

// stored counts the events that the log has.
func stored(t *testing.T, js jetstream.JetStream) (n int) {
	t.Helper()
	s, err := js.Stream(within(t), events.Stream)
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(within(t), seq)
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(string(m.Data), `"id":`)
	}
	return n
}

// TestGroupsFitTheBroker: of many callers at once none is refused for what another sends,
// and none is refused once before the sizes are found.
func TestGroupsFitTheBroker(t *testing.T) {
	i, js := narrow(t)
	if want := 64<<10 - headerRoom; i.Room() != want {
		t.Errorf("room for %d bytes, want %d", i.Room(), want)
	}
	var callers sync.WaitGroup
	for c := range 40 {
		callers.Go(func() {
			if r, err := i.Publish(within(t), "quota.consumption", array(c, 20, 0), 20); err != nil || r.Seq == 0 {
				t.Errorf("%d: %+v, %v", c, r, err)
			}
		})
	}
	callers.Wait()
	if n := stored(t, js); n != 800 {
		t.Errorf("the log has %d events", n)
	}
	mustShow(t, i, map[string]float64{"publish_messages_total refused": 0})
}

// TestABrokerThatTakesLessThanBefore: what was put together for the one before is cut up.
func TestABrokerThatTakesLessThanBefore(t *testing.T) {
	i, js := narrow(t)
	i.log.room.Store(1 << 20)
	if r, err := i.Publish(within(t), "quota.consumption", array(0, 100, 0), 100); err != nil || r.Seq < 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if n := stored(t, js); n != 100 {
		t.Errorf("the log has %d events", n)
	}
	if i.Room() > 64<<10 {
		t.Errorf("after that there is room for %d bytes", i.Room())
	}
}

// TestWhatIsTooLargeAloneIsToldTheLimit.
func TestWhatIsTooLargeAloneIsToldTheLimit(t *testing.T) {
	i, js := narrow(t)
	_, err := i.Publish(within(t), "quota.consumption", array(0, 0, 64<<10), 1)
	if !errors.Is(err, httpapi.ErrTooLarge) || !strings.Contains(err.Error(), "max_payload of 65536 bytes") {
		t.Errorf("%v", err)
	}
	if n := stored(t, js); n != 0 {
		t.Errorf("the log has %d events", n)
	}
}

// TestTheHeadersHaveRoom: what is as large as may be is taken.
func TestTheHeadersHaveRoom(t *testing.T) {
	i, _ := narrow(t)
	large := array(0, 0, i.Room())
	large = array(0, 0, i.Room()-(len(large)-i.Room()))
	if len(large) != i.Room() {
		t.Fatalf("%d bytes, want %d", len(large), i.Room())
	}
	if _, err := i.Publish(within(t), "quota.consumption", large, 1); err != nil {
		t.Error(err)
	}
}
