package assembly

import (
	"strings"
	"testing"
)

// TestANodeWaitsForTheOthers, takes events meanwhile, which it keeps, and tries again and
// again to make the streams; it says so, and ends when it is told to.
func TestANodeWaitsForTheOthers(t *testing.T) {
	cfg := onFreePorts(t)
	cfg.ClusterName, cfg.ServerName, cfg.ClusterAddr, cfg.Replicas = "quota", "a", "127.0.0.1:0", 3
	cfg.ClusterRoutes = []string{"nats://127.0.0.1:1", "nats://127.0.0.1:2"}
	p := start(t, Parts{Name: "ingest", OwnsLog: true}, cfg)
	if status, body := ask(t, "POST", p.HTTP+"/api/quota/events", `{"id":"e-1","apiKeyId":"a","connectionId":"c"}`); status != 200 || !strings.Contains(body, `{"id":"e-1","spooled":true}`) {
		t.Errorf("an event is answered %d %s", status, body)
	}
	const said = "the streams of the log cannot be made; trying again"
	for strings.Count(p.log.String(), said) < 2 {
		select {
		case err := <-p.done:
			t.Fatalf("it ended: %v", err)
		case <-p.log.more:
		}
	}
	if !strings.Contains(p.log.String(), "every=2s") {
		t.Errorf("it does not say how often it tries:\n%s", p.log)
	}
	p.end(t)
}
