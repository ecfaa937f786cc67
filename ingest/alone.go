package ingest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quotashare/quotashare/events"
)

// ErrAlone says that a node was given the log of a server that was alone, and ErrNode that
// a server that is alone was given that of a node.
var (
	ErrAlone = errors.New("its log was written by a server that was alone")
	ErrNode  = errors.New("its log is one copy of that of a cluster")
)

// joins reports data that no node of a cluster may begin with. nats-server takes the
// streams it finds for its copies of those of the cluster, which have other messages under
// the same sequences: each node then tells its readers another log, and nobody is told.
// What agreed in a cluster before has the cluster's own records beside its streams; a
// server that is alone would take it for no log and begin another, of which the cluster
// would never hear. Who reads a copy begins nothing.
func (o *Options) joins() error {
	store := filepath.Join(o.Dir, "jetstream")
	agreed := exists(filepath.Join(store, "$SYS", "_js_", "_meta_"))
	switch {
	case o.Alone || agreed && o.Cluster != nil:
		return nil
	case agreed:
		return fmt.Errorf("%s: %w, and is nothing without it: give the server the cluster's name, or name another directory", o.Dir, ErrNode)
	case o.Cluster == nil:
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
