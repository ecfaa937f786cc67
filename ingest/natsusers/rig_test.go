package natsusers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/ingest/natsusers"
	"github.com/quotashare/quotashare/internal/brokertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, brokertest.LostChannel) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// broker is one with users.
type broker struct {
	*brokertest.Users
	t testing.TB
}

func start(t testing.TB, w natsusers.Want) *broker {
	t.Helper()
	return &broker{brokertest.StartUsers(t, w), t}
}

// refused returns what the broker refused while fn ran, of that connection.
func (b *broker) refused(nc *nats.Conn, fn func()) string {
	b.t.Helper()
	b.Complaints()
	fn()
	must(b.t, nc.FlushTimeout(time.Minute))
	return strings.Join(b.Complaints(), "\n")
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
