package snapdir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/quotashare/quotashare/snapshots"
)

// FS is what a directory of snapshots asks of a file system. Paths are those of
// the operating system.
type FS interface {
	MkdirAll(dir string) error
	// Create creates a file, or empties the one that is there.
	Create(path string) (File, error)
	Open(path string) (io.ReadSeekCloser, error)
	Rename(from, to string) error
	Remove(path string) error
	// List returns the names in the directory, in any order.
	List(dir string) ([]string, error)
	// SyncDir makes creations, renames and removals in the directory last.
	SyncDir(dir string) error
}

// File is a file that is being written.
type File interface {
	io.Writer
	Sync() error
	Close() error
}

// disk is the FS of the operating system.
type disk struct{}

func (disk) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o700) }

func (disk) Create(path string) (File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

// Open opens what is a file. Opening a named pipe would wait for who writes into it, and
// with it all that waits for the snapshots, for ever and without a word.
func (disk) Open(path string) (io.ReadSeekCloser, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w: it is no regular file", filepath.Base(path), snapshots.ErrDamaged)
	}
	return os.Open(path)
}

func (disk) Rename(from, to string) error { return os.Rename(from, to) }
func (disk) Remove(path string) error     { return os.Remove(path) }

func (disk) List(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	return names, errors.Join(err, d.Close())
}

// SyncDir does nothing on Windows, which cannot and need not.
func (disk) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
