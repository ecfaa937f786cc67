package replay

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/pebblestore"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// Start is where the snapshots are that a replay may begin with.
type Start interface {
	// Newest opens the newest snapshot that can be used and is of no later message
	// than notAfter. An error that wraps snapdir.ErrNone says that there is none.
	Newest(ctx context.Context, notAfter uint64) (*snapdir.Snapshot, error)
}

// LocalStart begins with the snapshots of a directory.
func LocalStart(dir *snapdir.Dir) Start { return localStart{dir} }

type localStart struct{ dir *snapdir.Dir }

// Newest implements Start.
func (s localStart) Newest(_ context.Context, notAfter uint64) (*snapdir.Snapshot, error) {
	return s.dir.Newest(func(h snapshots.Header) bool {
		return h.Seq <= notAfter && h.Rules == projector.RulesVersion
	})
}

// TemporaryStore makes stores on disk, each in a directory of its own below the
// parent ("" = that of the system), which is removed when the store is closed. So
// the memory of a replay is bounded by its keys, and not by the history of ids.
func TemporaryStore(parent string, log *slog.Logger) func() (projector.Store, error) {
	return func() (projector.Store, error) {
		if parent != "" {
			if err := os.MkdirAll(parent, 0o700); err != nil {
				return nil, fmt.Errorf("replay: a place for the state: %w", err)
			}
		}
		dir, err := os.MkdirTemp(parent, "quotashare-replay-*")
		if err != nil {
			return nil, fmt.Errorf("replay: a place for the state: %w", err)
		}
		s, err := pebblestore.Open(pebblestore.Options{Dir: dir, Log: log})
		if err != nil {
			return nil, fmt.Errorf("replay: %w", joinRemoval(err, dir))
		}
		return &temporary{s, dir}, nil
	}
}

type temporary struct {
	*pebblestore.Store
	dir string
}

// Close closes the store and removes it.
func (t *temporary) Close() error { return joinRemoval(t.Store.Close(), t.dir) }
