package pebblestore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/quotashare/quotashare/projector"
)

// Temporary returns a function that makes stores, each in a directory of its own below
// the parent ("" = that of the system), which is removed when the store is closed. They
// are for who folds a log once more: the memory that it takes is bounded by the keys,
// and not by the history of ids.
func Temporary(parent string, log *slog.Logger) func() (projector.Store, error) {
	return func() (projector.Store, error) {
		if parent != "" {
			if err := os.MkdirAll(parent, 0o700); err != nil {
				return nil, fmt.Errorf("store: a temporary place: %w", err)
			}
		}
		dir, err := os.MkdirTemp(parent, "quotashare-replay-*")
		if err != nil {
			return nil, fmt.Errorf("store: a temporary place: %w", err)
		}
		s, err := Open(Options{Dir: dir, Log: log, Scratch: true})
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		return &temporary{s, dir}, nil
	}
}

type temporary struct {
	*Store
	dir string
}

// Close closes the store and removes it.
func (t *temporary) Close() error { return errors.Join(t.Store.Close(), os.RemoveAll(t.dir)) }
