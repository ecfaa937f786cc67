package keyfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// ErrNoSuchToken is the error of Revoke when the key has no such token.
var ErrNoSuchToken = errors.New("there is no such token")

// Issue makes a token for the key, adds it to the file and returns it: it cannot be
// had again. A file or a directory that is not there is made. It waits while another
// process changes the file.
func Issue(path, id string, now time.Time) (token string, err error) {
	if err := checkNewID(id); err != nil {
		return "", fmt.Errorf("id %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	token, key := newToken(id, now)
	err = edit(path, func(keys []Key) ([]Key, error) { return append(keys, key), nil })
	if err != nil {
		return "", err
	}
	return token, nil
}

// List returns what is in the file by key and age. A file that is not there is
// fs.ErrNotExist.
func List(path string) ([]Key, error) {
	keys, _, err := read(path)
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.Prefix, b.Prefix))
	})
	return keys, err
}

// Revoke removes tokens of the key from the file and returns them: the one with that
// prefix, which may also be the whole token; all of the key when it is "". None is
// ErrNoSuchToken, and a file that is not there fs.ErrNotExist.
func Revoke(path, id, prefix string) (revoked []Key, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	prefix = strings.TrimSpace(prefix)
	err = edit(path, func(keys []Key) ([]Key, error) {
		var kept []Key
		for _, k := range keys {
			if k.ID == id && (prefix == "" || prefix == k.Prefix || sumOf(prefix) == k.sum) {
				revoked = append(revoked, k)
			} else {
				kept = append(kept, k)
			}
		}
		if len(revoked) == 0 {
			return nil, ErrNoSuchToken
		}
		return kept, nil
	})
	if err != nil {
		return nil, err
	}
	return revoked, nil
}

// Exposed reports whether others than its owner may read or write the file. Systems
// without such modes expose nothing that could be told from one.
func Exposed(path string) bool {
	info, err := os.Stat(path)
	return err == nil && exposed(info)
}

func exposed(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

// edit puts what change makes of the keys in their place, one at a time.
func edit(path string, change func([]Key) ([]Key, error)) error {
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
	keys, old, err := read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if keys, err = change(keys); err != nil {
		return err
	}
	data := encode(keys)
	if _, err := parse(data); err != nil { // never write what could not be read again
		return fmt.Errorf("%s would be faulty: %w", path, err)
	}
	return replace(path, old, data)
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
