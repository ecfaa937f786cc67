package scratch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Dir is a directory of this process alone. Close removes it.
type Dir struct {
	// Path is where it is.
	Path string
	lock io.Closer
}

const (
	pattern  = "quotashare-audit-*"
	lockName = "LOCK"
	// settled is how old a lock is that is looked at: who makes a directory, and is on
	// the way to lock it, must find it there.
	settled = time.Minute
)

// Make makes a directory below the parent, "" = that of the system for such, and removes
// those that processes which are gone have left there. What cannot be removed is told to
// the log.
func Make(parent string, log *slog.Logger) (*Dir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("a temporary place: %w", err)
	}
	sweep(parent, log)
	path, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return nil, fmt.Errorf("a temporary place: %w", err)
	}
	lock, err := vfs.Default.Lock(filepath.Join(path, lockName))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("a temporary place: lock: %w", err), os.RemoveAll(path))
	}
	return &Dir{Path: path, lock: lock}, nil
}

// Close removes it with all that is in it.
func (d *Dir) Close() error { return errors.Join(os.RemoveAll(d.Path), d.lock.Close()) }

func sweep(parent string, log *slog.Logger) {
	list, _ := filepath.Glob(filepath.Join(parent, pattern)) // its error is of the pattern
	for _, path := range list {
		if err := drop(path); err != nil {
			log.Warn("what an audit that was killed has left cannot be removed", "dir", path, "err", err)
		}
	}
}

// drop removes a directory that nobody has. One of another user is not looked at: opening
// a file in it would follow whatever link is there.
func drop(path string) error {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !mine(info) {
		return nil
	}
	name := filepath.Join(path, lockName)
	if info, err = os.Lstat(name); err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < settled {
		return nil
	}
	lock, err := vfs.Default.Lock(name)
	if err != nil {
		return nil // a process has it
	}
	d := Dir{Path: path, lock: lock}
	if err := d.Close(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
