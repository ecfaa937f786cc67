package secretfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Exposed reports whether others than its owner may read or write the file. Systems
// without such modes expose nothing that could be told from one.
func Exposed(path string) bool {
	info, err := os.Stat(path)
	return err == nil && exposed(info)
}

func exposed(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

// Edit puts what change makes of the entries in their place, one at a time: it waits
// while another process changes the file. A file that is not there has none. What Edit
// has done is on disk.
func (k Kind[E]) Edit(path string, change func([]E) ([]E, error)) error {
	path, err := target(path)
	if err != nil {
		return err
	}
	// The lock is not on the file itself, which is another one after each change.
	// It is never removed: who waits on a removed one would hold it for himself.
	lock, err := lockedfile.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	entries, old, err := k.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if entries, err = change(entries); err != nil {
		return err
	}
	data := k.Encode(entries)
	if _, err := k.parse(data); err != nil { // never write what could not be read again
		return fmt.Errorf("%s would be faulty: %w", path, err)
	}
	return replace(path, old, data)
}

// ErrNone is the error of Remove when nothing goes.
var ErrNone = errors.New("there is no such token")

// Add adds an entry to the file. A file or a directory that is not there is made.
func (k Kind[E]) Add(path string, e E) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return k.Edit(path, func(list []E) ([]E, error) { return append(list, e), nil })
}

// Remove takes entries out of the file and returns them. None is ErrNone, and a file
// that is not there fs.ErrNotExist.
func (k Kind[E]) Remove(path string, goes func(*E) bool) (removed []E, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	err = k.Edit(path, func(list []E) ([]E, error) {
		var kept []E
		for i := range list {
			if goes(&list[i]) {
				removed = append(removed, list[i])
			} else {
				kept = append(kept, list[i])
			}
		}
		if len(removed) == 0 {
			return nil, ErrNone
		}
		return kept, nil
	})
	if err != nil {
		return nil, err
	}
	return removed, nil
}

// target follows links, so that a rename does not replace one, and two names of a
// file share a lock.
func target(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return real, err
}

// replace writes a file so that at any moment the old one or the new one is there,
// whole; old is nil if there is none. What a killed process left of its own is in
// nobody's way: the lock is ours.
func replace(path string, old fs.FileInfo, data []byte) error {
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if old != nil {
		err = keepOwner(f, old)
	}
	_, failed := f.Write(data)
	if err := errors.Join(err, failed, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename last. Windows cannot, and need not.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
