package deploy

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/config"
)

// What runs here without Docker must be what runs with it.
func TestTheTopologyIsThatOfTheScript(t *testing.T) {
	line := regexp.MustCompile(`(?m)^for name in (.*); do$`).FindSubmatch(read(t, "topology/down"))
	if line == nil {
		t.Fatal("topology/down does not name its processes")
	}
	out, err := exec.CommandContext(t.Context(), "bash", "-c", "printf '%s\n' "+string(line[1])).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(out))
	slices.Sort(want)
	var got []string
	kinds := map[string]int{}
	for name, s := range compose(t) {
		if s.ours() && s.Profiles == nil {
			got = append(got, name)
			kinds[kind(t, name, s)]++
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("services (-topology +compose):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"node": 3, "front": 2, "decider": 2}, kinds); diff != "" {
		t.Errorf("what they are (-want +got):\n%s", diff)
	}
}

// kind tells what a service is from its program and its variables, not from its name.
func kind(t *testing.T, name string, s *service) string {
	t.Helper()
	at := strings.Join(s.Entrypoint, " ")
	switch {
	case at == "/bin/decider" && s.Environment["QUOTA_STORE_NATS_URL"] != "":
		return "decider"
	case at == "/bin/ingest" && s.Environment["QUOTA_STORE_DRIVER"] == config.NATS:
		return "front"
	case at == "/bin/ingest" && s.Environment["QUOTA_CLUSTER_ROUTES"] != "" && s.Environment["QUOTA_SERVER_NAME"] == name:
		return "node"
	}
	t.Errorf("service %s is neither node, front door nor decider", name)
	return ""
}
