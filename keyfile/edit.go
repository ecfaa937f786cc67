package keyfile

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quotashare/quotashare/secretfile"
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
	err = kind.Edit(path, func(keys []Key) ([]Key, error) { return append(keys, key), nil })
	if err != nil {
		return "", err
	}
	return token, nil
}

// List returns what is in the file by key and age. A file that is not there is
// fs.ErrNotExist.
func List(path string) ([]Key, error) {
	keys, _, err := kind.Read(path)
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
	err = kind.Edit(path, func(keys []Key) ([]Key, error) {
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
func Exposed(path string) bool { return secretfile.Exposed(path) }
