package ingest

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// TestTheLogOfAServerAloneIsNoNodes: nor is a directory lost that had no log yet, or that
// a node had.
func TestTheLogOfAServerAloneIsNoNodes(t *testing.T) {
	alone := Options{Dir: t.TempDir(), Addr: "127.0.0.1:-1", Logger: slog.New(slog.DiscardHandler)}
	node := alone
	node.Name, node.Cluster = "node-1", &Cluster{Name: "quota", Addr: free(t, 1)[0], Routes: []string{"nats://" + free(t, 1)[0]}}
	begin := func(o Options, streams bool) error {
		s, err := Start(o)
		if err != nil {
			return err
		}
		if streams {
			js, done := connect(t, s.ClientURL(), s.ClientOptions()...)
			if _, err := EnsureStreams(t.Context(), js, Configs(14, 1)); err != nil {
				t.Error(err)
			}
			done()
		}
		return s.Shutdown()
	}
	if err := begin(node, false); err != nil {
		t.Fatalf("an empty directory: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(node.Dir, "jetstream", "$G", "streams", "QUOTA"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := begin(node, false); err != nil {
		t.Fatalf("that of a node, which has a copy: %v", err)
	}
	alone.Dir = node.Dir
	if err := begin(alone, false); !errors.Is(err, ErrNode) {
		t.Errorf("a node's, without its cluster: %v", err)
	}
	alone.Dir = t.TempDir()
	node.Dir = alone.Dir
	if err := begin(alone, true); err != nil {
		t.Fatal(err)
	}
	if err := begin(node, false); !errors.Is(err, ErrAlone) {
		t.Errorf("the log of a server that was alone: %v", err)
	}
	if err := begin(alone, true); err != nil {
		t.Errorf("it does not start alone any more: %v", err)
	}
}
