package natsusers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/ingest/natsusers"
)

// TestRights has each user try each operation at a broker without streams, where none
// has an effect, and lists who may.
func TestRights(t *testing.T) {
	datadriven.RunTest(t, "testdata/rights.txt", func(t *testing.T, d *datadriven.TestData) string {
		b := start(t, natsusers.Want{Gateways: []string{"gateway", "omni", "lite"}, Isolate: d.HasArg("isolate")})
		var users []*nats.Conn
		for _, user := range []string{"gateway", "omni", "lite", "ingest", "decider", "viewer", "admin", b.Own.User} {
			users = append(users, b.As(user))
		}
		var out strings.Builder
		for op := range strings.Lines(d.Input) {
			op = strings.TrimSpace(op)
			fmt.Fprintf(&out, "%-58s %s\n", op+":", strings.Join(b.whoMay(users, op), " "))
		}
		return out.String()
	})
}

// whoMay are the names of those whom the broker does not refuse an operation.
func (b *broker) whoMay(users []*nats.Conn, op string) (who []string) {
	b.t.Helper()
	do, subject, _ := strings.Cut(op, " ")
	for _, nc := range users {
		refused := b.refused(nc, func() {
			switch do {
			case "publish":
				must(b.t, nc.PublishRequest(subject, nc.NewInbox(), nil))
			case "subscribe":
				sub, err := nc.SubscribeSync(subject)
				must(b.t, err)
				must(b.t, nc.Flush())
				must(b.t, sub.Unsubscribe())
			case "queue":
				sub, err := nc.QueueSubscribeSync(subject, "quotashare")
				must(b.t, err)
				must(b.t, nc.Flush())
				must(b.t, sub.Unsubscribe())
			default:
				b.t.Fatalf("operation %q", op)
			}
		})
		switch {
		case refused == "":
			who = append(who, nc.Opts.Name)
		case !strings.Contains(refused, "Violation") || !strings.Contains(refused, `"`+subject+`"`):
			b.t.Errorf("%s as %s: the broker says %s", op, nc.Opts.Name, refused)
		}
	}
	if len(who) == 0 {
		return []string{"nobody"}
	}
	return who
}
