package assembly

import (
	"strings"
	"testing"

	"github.com/quotashare/quotashare/internal/program"
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
	if status, _ := ask(t, "GET", p.HTTP+"/readyz", ""); status != 503 {
		t.Errorf("/readyz is %d: who restarts nodes one by one would go on", status)
	}
	p.end(t)
}

// TestTheSecondNodeOfAName ends while it waits for the others, and says what to set.
func TestTheSecondNodeOfAName(t *testing.T) {
	at := [2]string{}
	for i := range at {
		l, err := listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at[i] = l.Addr().String()
		l.Close()
	}
	var nodes [2]*process
	for i := range nodes {
		cfg := onFreePorts(t)
		cfg.ClusterName, cfg.ServerName, cfg.ClusterAddr, cfg.Replicas = "quota", "same", at[i], 3
		cfg.ClusterRoutes = []string{"nats://" + at[1-i]}
		nodes[i], _ = begin(t, Parts{Name: "quotashare", OwnsLog: true, Decides: true}, cfg)
	}
	var err error
	select {
	case err = <-nodes[0].done:
	case err = <-nodes[1].done:
	}
	var out strings.Builder
	if code := program.Report(&out, "quotashare", err); code != program.Failure || !strings.Contains(out.String(), "server name same: another node") ||
		!strings.Contains(out.String(), "hint: give each node a name of its own with --server-name or QUOTA_SERVER_NAME") {
		t.Errorf("exit %d: %s", code, &out)
	}
	nodes[0].stop()
	nodes[1].stop()
	select { // the other one
	case <-nodes[0].done:
	case <-nodes[1].done:
	}
}
