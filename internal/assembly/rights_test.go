package assembly

import (
	"strings"
	"testing"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/ingest/natsusers"
	"github.com/quotashare/quotashare/internal/brokertest"
)

// TestTheLoginOfAnotherProgram is said to be that, once, with the one that is needed; the
// program goes on, and says why it is not ready.
func TestTheLoginOfAnotherProgram(t *testing.T) {
	b := brokertest.StartUsers(t, natsusers.Want{})
	cfg := onFreePorts(t)
	cfg.StoreDriver, cfg.StoreNATSURL, cfg.StoreNATSUser = config.NATS, b.URL, b.Login("gateway")
	const refused = "ERR the broker does not let us do what this program does"
	p := start(t, Parts{Name: "decider", Decides: true}, cfg)
	until(t, p.HTTP+"/readyz", "the broker does not let the login gateway read the log")
	if said := p.log.String(); strings.Count(said, refused) != 1 || !strings.Contains(said, "login=gateway role=decider") {
		t.Errorf("it says\n%s", said)
	}
	p.end(t)

	cfg.DataDir = t.TempDir()
	p = start(t, Parts{Name: "ingest", OwnsLog: true}, cfg)
	for !strings.Contains(p.log.String(), "the streams of the log cannot be made") {
		<-p.log.more
	}
	if said := p.log.String(); strings.Contains(said, "deadline exceeded") || !strings.Contains(said, "login=gateway role=ingest") {
		t.Errorf("it says\n%s", said)
	}
	p.end(t)
}
