package tokens

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/quotashare/quotashare/secretfile"
)

// ErrNoSuchToken is the error of Remove when the name has no such token.
var ErrNoSuchToken = secretfile.ErrNone

// Add makes a token with the name, role, keys and end of t, adds it to the file and
// returns it: it cannot be had again. A file or a directory that is not there is made.
// It waits while another process changes the file. What is wrong with t is a wire.Faults.
func Add(path string, t Token, now time.Time) (token string, err error) {
	if err := t.check(now); err != nil {
		return "", err
	}
	token, t = newToken(t, now)
	if err := kind.Add(path, t); err != nil {
		return "", err
	}
	return token, nil
}

// List returns what is in the file by name and age. A file that is not there is
// fs.ErrNotExist.
func List(path string) ([]Token, error) {
	list, _, err := kind.Read(path)
	slices.SortFunc(list, func(a, b Token) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.Prefix, b.Prefix))
	})
	return list, err
}

// Remove takes tokens of the name out of the file and returns them: the one with that
// prefix, which may also be the whole token; all of the name when it is "". None is
// ErrNoSuchToken, and a file that is not there fs.ErrNotExist.
func Remove(path, name, prefix string) (removed []Token, err error) {
	prefix = strings.TrimSpace(prefix)
	return kind.Remove(path, func(t *Token) bool {
		return t.Name == name && (prefix == "" || prefix == t.Prefix || sumOf(prefix) == t.sum)
	})
}

// Exposed reports whether others than its owner may read or write the file.
func Exposed(path string) bool { return secretfile.Exposed(path) }
