package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const file = "../../docker-compose.yml"

// A check that takes everything is none: each of these is one slip of a hand.
func TestBrokenFilesAreRefused(t *testing.T) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, slip := range []struct{ from, to, says string }{
		{"", "", ""},
		{"read_only: true", "readonly: true", "readonly"},
		{"cap_drop: [ALL]", "cap_drop: ALL", "cap_drop"},
		{"node-1:/data", "nodes-1:/data", "nodes-1"},
		{"secrets: [prometheus-token]", "secrets: [prometheus]", "prometheus"},
		{"restart: unless-stopped\n    healthcheck:\n      test", "depends_on: [decider-9]\n    healthcheck:\n      test", "decider-9"},
		{"127.0.0.1:3000:3000", "127.0.0.1:3000:port", "port"},
		{"timeout: 5s", "timeout: soon", "timeout"},
		{"<<: *front", "<<: *fronts", "fronts"},
		{"  grafana:\n    image", "  grafana: {}\n  grafana:\n    image", "grafana"},
		{"    image: grafana/grafana:12.1.1\n", "", "grafana"},
	} {
		broken := filepath.Join(t.TempDir(), "docker-compose.yml")
		if slip.from != "" && !strings.Contains(string(text), slip.from) {
			t.Fatalf("%s has no %q any more: choose another slip", file, slip.from)
		}
		if err := os.WriteFile(broken, []byte(strings.Replace(string(text), slip.from, slip.to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := services(broken)
		switch {
		case slip.from == "" && err != nil:
			t.Errorf("the file as it is: %v", err)
		case slip.from != "" && (err == nil || !strings.Contains(err.Error(), slip.says)):
			t.Errorf("%q instead of %q: %v", slip.to, slip.from, err)
		}
	}
}

func TestServicesOfProfilesAreRead(t *testing.T) {
	names, err := services(file)
	if want := "decider-1 decider-2 front-1 front-2 grafana node-1 node-2 node-3 prometheus tokens users"; err != nil || strings.Join(names, " ") != want {
		t.Errorf("services %v, %v, want %s", names, err, want)
	}
}
