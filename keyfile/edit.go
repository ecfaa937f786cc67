package keyfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quotashare/quotashare/secretfile"
)

// ErrNoSuchToken is the error of Revoke when the key has no such token.
var ErrNoSuchToken = secretfile.ErrNone

// Issue makes a token for the key, adds it to the file and returns it: it cannot be
// had again. A file or a directory that is not there is made. It waits while another
// process changes the file.
func Issue(path, id string, now time.Time) (token string, err error) {
	if err := checkNewID(id); err != nil {
		return "", fmt.Errorf("id %w", err)
	}
	token, key := newToken(id, now)
	if err := kind.Add(path, key); err != nil {
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
	prefix = strings.TrimSpace(prefix)
	return kind.Remove(path, func(k *Key) bool {
		return k.ID == id && (prefix == "" || prefix == k.Prefix || sumOf(prefix) == k.sum)
	})
}

// Exposed reports whether others than its owner may read or write the file. Systems
// without such modes expose nothing that could be told from one.
func Exposed(path string) bool { return secretfile.Exposed(path) }
