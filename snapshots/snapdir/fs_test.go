package snapdir_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// mem is a file system in memory that can be cut off at any step.
type mem struct {
	*vfs.MemFS
	step func() error // before each step that changes something; nil = none
}

func newMem() *mem { return &mem{MemFS: vfs.NewCrashableMem()} }

func (m *mem) before() error {
	if m.step == nil {
		return nil
	}
	return m.step()
}

func (m *mem) MkdirAll(dir string) error {
	if err := m.before(); err != nil {
		return err
	}
	return m.MemFS.MkdirAll(dir, 0o700)
}

func (m *mem) Create(path string) (snapdir.File, error) {
	if err := m.before(); err != nil {
		return nil, err
	}
	f, err := m.MemFS.Create(path, vfs.WriteCategoryUnspecified)
	return &memFile{File: f, of: m}, err
}

func (m *mem) Open(path string) (io.ReadSeekCloser, error) {
	f, err := m.MemFS.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	return struct {
		io.ReadSeeker
		io.Closer
	}{io.NewSectionReader(f, 0, info.Size()), f}, err
}

func (m *mem) Rename(from, to string) error {
	if err := m.before(); err != nil {
		return err
	}
	return m.MemFS.Rename(from, to)
}

func (m *mem) Remove(path string) error {
	if err := m.before(); err != nil {
		return err
	}
	return m.MemFS.Remove(path)
}

func (m *mem) List(dir string) ([]string, error) { return m.MemFS.List(dir) }

func (m *mem) SyncDir(dir string) error {
	if err := m.before(); err != nil {
		return err
	}
	d, err := m.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type memFile struct {
	vfs.File
	of *mem
}

func (f *memFile) Write(b []byte) (int, error) {
	if err := f.of.before(); err != nil {
		return 0, err
	}
	return f.File.Write(bytes.Clone(b)) // with the race detector it spoils what it is given
}

func (f *memFile) Sync() error {
	if err := f.of.before(); err != nil {
		return err
	}
	return f.File.Sync()
}

// put writes a file past the directory's back.
func put(t *testing.T, m *mem, path string, b []byte) {
	t.Helper()
	f, err := m.MemFS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, m *mem, path string) []byte {
	t.Helper()
	f, err := m.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return b
}
