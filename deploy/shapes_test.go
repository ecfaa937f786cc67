package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/internal/program"
)

const page = "../docs/DEPLOYMENT.md"

// lines are the commands of the page, each in one line.
func lines(t *testing.T) (all []string) {
	t.Helper()
	for _, block := range regexp.MustCompile("(?ms)^```bash\n(.*?)^```").FindAllStringSubmatch(string(read(t, page)), -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			all = append(all, strings.Join(strings.Fields(line), " "))
		}
	}
	if len(all) < 30 {
		t.Fatalf("%s has %d commands", page, len(all))
	}
	return all
}

// A flag that is not there any more is found here, and not by who comes to deploy.
func TestFlagsOfThePageAreThere(t *testing.T) {
	bin := programs(t)
	ours := regexp.MustCompile(`^(?:bin/)?(quotashare|ingest|decider|gateway)((?: (?:up|nats-config|tokens add))?) (--.*)$`)
	checked := 0
	for _, line := range lines(t) {
		if _, contained, ok := strings.Cut(line, "quotashare:"+program.Version+" "); ok {
			line = "quotashare " + contained
		}
		m := ours.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		help, err := exec.CommandContext(t.Context(), filepath.Join(bin, m[1]), append(strings.Fields(m[2]), "--help")...).Output()
		if err != nil {
			t.Fatalf("%s%s --help: %v", m[1], m[2], err)
		}
		for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(m[3], -1) {
			if !regexp.MustCompile(regexp.QuoteMeta(flag) + `\b[^-]`).Match(help) {
				t.Errorf("%s: %s has no %s", line, m[1]+m[2], flag)
			}
		}
		checked++
	}
	if checked < 12 {
		t.Errorf("%d commands of ours were found, which is too few", checked)
	}
}

// What the page calls by its name in docker-compose.yml is there, and so is every file
// and variable.
func TestNamesOfThePageAreThere(t *testing.T) {
	services := compose(t)
	for _, line := range lines(t) {
		if m := regexp.MustCompile(`compose run --rm(?: -T)? (\S+)`).FindStringSubmatch(line); m != nil && services[m[1]] == nil {
			t.Errorf("%s: there is no service %s", line, m[1])
		}
	}
	text := string(read(t, page))
	for _, name := range regexp.MustCompile(`QUOTA_[A-Z_]+`).FindAllString(text, -1) {
		if !slices.Contains(config.Variables(), name) && !slices.Contains([]string{"QUOTA_REJECTED", "QUOTA_DECISIONS"}, name) {
			t.Errorf("there is no variable %s", name)
		}
	}
	for _, m := range regexp.MustCompile(`\]\(([^):#]+)(?:#([^)]*))?\)`).FindAllStringSubmatch(text, -1) {
		file := filepath.Join("../docs", m[1])
		if _, err := os.Stat(file); err != nil {
			t.Errorf("the page links to %s, which is not there", m[1])
		} else if m[2] != "" && !anchors(t, file)[m[2]] {
			t.Errorf("the page links to %s#%s, and there is no such heading", m[1], m[2])
		}
	}
	for _, m := range regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(text, -1) {
		if !anchors(t, page)[m[1]] {
			t.Errorf("the page links to #%s, and there is no such heading", m[1])
		}
	}
}

// The lines of the second shape are run as they are, but for the places: a front door
// with the log, and two deciders that answer from it.
func TestAFrontDoorAndTwoDeciders(t *testing.T) {
	c := begin(t)
	var names []string
	for _, line := range lines(t) {
		words := strings.Fields(line)
		if filepath.Dir(words[0]) != "bin" || len(words) == 1 {
			continue
		}
		http := words[slices.Index(words, "--http-addr")+1]
		name := filepath.Base(words[0]) + http
		for _, addr := range regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(line, -1) {
			if c.host[addr] == "" {
				c.host[addr] = brokertest.FreeAddr(c.t)
			}
		}
		c.host[name+":8480"] = c.host[http]
		words[0] = "/" + words[0]
		c.services[name] = &service{Entrypoint: words, Environment: map[string]string{"QUOTA_HTTP_ADDR": http}}
		c.services[name].Healthcheck.Test = []string{"CMD", "/bin/quotashare", "health"}
		c.start(name)
		names = append(names, name)
	}
	if len(names) != 3 {
		t.Fatalf("the page starts %v, want three", names)
	}
	for _, name := range names {
		c.healthy(name)
	}
	c.call("POST", names[0], "/api/quota/events", `{"apiKeyId": "alice", "connectionId": "kimi-1", "cost": {"tokens": 1}}`)
	for _, name := range names[1:] {
		if answer := c.call("POST", name, "/api/quota/decide", `{"apiKeyId": "alice", "connectionId": "kimi-1", "minSeq": 1}`); !strings.Contains(answer, `"decision":"allow"`) {
			t.Errorf("%s answers %s", name, answer)
		}
	}
}
