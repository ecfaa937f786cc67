package deploy

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// seldom are figures that are there only once something has gone wrong, or while
// somebody waits.
var seldom = []string{"quotashare_degraded_total", "quotashare_backlog_waiting", "quotashare_backlog_oldest_seconds"}

// What docker-compose.yml says works: the same programs with the same variables become
// a cluster, take events at one front door, answer at a decider, and show the figures
// that alerts and dashboard ask for.
func TestWhatIsComposedRuns(t *testing.T) {
	c := launch(t)
	var names []string
	for name, s := range c.services {
		if s.ours() && s.Profiles == nil {
			names = append(names, name)
			c.healthy(name)
		}
	}
	c.call("POST", "decider-1", "/api/quota/pools", `{"id": "team", "name": "Team", "provider": "kimi",
		"connections": [{"connectionId": "kimi-1", "maxConcurrent": 2}], "allocations": [{"apiKeyId": "alice", "weight": 100}]}`)
	c.call("POST", "front-1", "/api/quota/events", `[{"apiKeyId": "alice", "connectionId": "kimi-1", "cost": {"tokens": 1}}, {"apiKeyId": ""}]`)
	c.call("POST", "front-2", "/api/quota/events", `{"apiKeyId": "alice", "connectionId": "kimi-1", "cost": {"tokens": 1}}`)
	c.call("POST", "front-2", "/api/quota/events", `{"type": "quota.saturation", "connectionId": "kimi-1", "provider": "kimi", "readings": [{"window": "hourly", "usedPercent": 5}]}`)
	for _, name := range []string{"decider-1", "decider-2"} {
		answer := c.call("POST", name, "/api/quota/decide", `{"apiKeyId": "alice", "connectionId": "kimi-1", "minSeq": 4}`)
		if !strings.Contains(answer, `"decision":"allow"`) {
			t.Errorf("%s answers %s", name, answer)
		}
		c.call("POST", name, "/api/quota/snapshots", "")
	}
	shown := map[string]bool{}
	c.gateway()
	c.healthy("gateway")
	c.send("POST", "gateway", "/v1/chat/completions", "{}") // it is nobody's, and is counted
	names = append(names, "gateway")
	for _, name := range names {
		add(shown, c.call("GET", name, "/metrics", ""))
	}
	for name := range used(t) {
		if !shown[name] && !slices.Contains(seldom, name) {
			t.Errorf("no program shows %s", name)
		}
	}
}

// add adds the names in a page of figures.
func add(shown map[string]bool, page string) {
	for _, m := range regexp.MustCompile(`(?m)^(\w+)[{ ]`).FindAllStringSubmatch(page, -1) {
		shown[m[1]] = true
	}
}
