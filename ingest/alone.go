package ingest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quotashare/quotashare/events"
)

// ErrAlone says that a node was given the log of a server that was alone.
var ErrAlone = errors.New("its log was written by a server that was alone")

// joins reports data that no node of a cluster may begin with. nats-server takes the
// streams it finds for its copies of those of the cluster, which have other messages under
// the same sequences: each node then tells its readers another log, and nobody is told.
// What agreed in a cluster before has the cluster's own records beside its streams.
func (o *Options) joins() error {
	store := filepath.Join(o.Dir, "jetstream")
	if o.Cluster == nil || exists(filepath.Join(store, "$SYS", "_js_", "_meta_")) {
		return nil
	}
	accounts, err := os.ReadDir(store)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	for _, account := range accounts {
		if exists(filepath.Join(store, account.Name(), "streams", events.Stream)) {
			return fmt.Errorf("%s: %w, and a cluster would not be given it: start the nodes with empty directories, and bring it over with nats stream backup and nats stream restore", o.Dir, ErrAlone)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
