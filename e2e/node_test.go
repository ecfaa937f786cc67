package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// needPackages fails the test when what npm fetches is not there.
func needPackages(t *testing.T) {
	t.Helper()
	for _, name := range []string{"@nats-io/transport-node", "openai", "@anthropic-ai/sdk"} {
		if _, err := os.Stat("node/node_modules/" + name + "/package.json"); err != nil {
			t.Fatalf("the packages of the Node clients are not there: run (cd e2e/node && npm ci): %v", err)
		}
	}
}

// node runs a script of e2e/node and returns the lines it prints.
func node(t *testing.T, script, stdin string, args ...string) []string {
	t.Helper()
	needPackages(t)
	cmd := exec.CommandContext(deadline(t), "node", append([]string{script}, args...)...)
	cmd.Dir = "node"
	cmd.Stdin = strings.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node %s: %v\n%s", script, err, &stderr)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}
