package natsusers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"github.com/quotashare/quotashare/ingest/natsusers/login"
)

// cost of a hash, the least there is: about 1 ms to check one. A slow hash makes guessing
// dear, and there is nothing to guess in a password of 130 random bits; but when a broker
// comes back, all clients do at once, and at the usual cost of 11 each would take it 100 ms
// of a core. It is bcrypt because that is the hash that nats-server knows.
const cost = bcrypt.MinCost

// Fate is what became of a user's login.
type Fate string

// The fates.
const (
	Made    Fate = "made"    // a password, or for a user who had another one
	Kept    Fate = "kept"    // as it was
	Unknown Fate = "unknown" // kept, and its file is not here: nobody can tell it
)

// Written is a user as Write left him.
type Written struct {
	User string
	Role Role
	File string // of his login
	Fate Fate
}

// logins gives those users passwords who have none or get another one; anew are more of
// them, who need not be there.
func (c *users) logins(dir string, rotate, anew []string) ([]Written, error) {
	for _, name := range rotate {
		if c.find(name) == nil {
			return nil, fmt.Errorf("rotate %q: %w: there are %s", name, ErrNotUser, strings.Join(c.names(inOrder...), ", "))
		}
	}
	var all []Written
	for i := range c.list {
		u := &c.list[i]
		w := Written{User: u.name, Role: u.role(), File: filepath.Join(dir, u.name+LoginSuffix)}
		var err error
		if slices.Contains(rotate, u.name) || slices.Contains(anew, u.name) {
			w.Fate, err = u.renew()
		} else {
			w.Fate, err = u.login(w.File)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// login makes sure that the user has a hash, and that his file has the password of it or
// will. A file without a hash is left of a configuration that is gone: its password is as
// good as a new one, and may be in use.
func (u *user) login(file string) (Fate, error) {
	l, err := login.Read(file)
	there := err == nil
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	case there && l.User != u.name:
		return "", fmt.Errorf("%s: it has the login of %q: move it away", file, l.User)
	case !there && u.hash != "":
		return Unknown, nil
	case !there:
		return u.renew()
	case u.hash != "" && !u.checks(l.Password):
		return "", fmt.Errorf("%s: %w", file, ErrOtherFile)
	case u.hash != "":
		return Kept, os.Chmod(file, 0o600)
	}
	return Made, errors.Join(u.hashed(l.Password), os.Chmod(file, 0o600))
}

// renew gives the user another password, which is to be written.
func (u *user) renew() (Fate, error) {
	u.password = rand.Text()
	return Made, u.hashed(u.password)
}

func (u *user) hashed(password string) error {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), cost)
	u.hash = string(hash)
	return err
}
