package natsusers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/crypto/bcrypt"

	"github.com/quotashare/quotashare/ingest/natsusers/login"
)

// unfinished is what comes behind the name of a file that is not in force yet.
const unfinished = ".new"

// lockName is the file that only one run at a time has. It stays: who removed it could
// take it from under one who waits for nothing and has it.
const lockName = "LOCK"

// Write makes the configuration in a directory, and the logins of its users. What is
// there stays: users, their passwords, and that gateways are isolated. All is written for
// its owner alone, by one run at a time, else the error is ErrBusy.
//
// New logins are written beside their places, then the configuration, then the logins
// are put where they belong. A run that ends in between leaves what the next one needs:
// a login whose password the configuration knows is put in its place, another one was
// never in force and goes.
func Write(dir string, w Want) ([]Written, error) { return write(dir, w, func() {}) }

// write calls step after each change of the directory.
func write(dir string, w Want, step func()) (made []Written, err error) {
	lock, err := take(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	c, err := load(filepath.Join(dir, ConfigName))
	if err != nil {
		return nil, err
	}
	if err := c.finish(dir, step); err != nil {
		return nil, err
	}
	made, err = c.want(dir, w)
	if err != nil {
		return nil, err
	}
	return made, c.save(dir, w.Remove, step)
}

// take makes the directory, and has it for this run alone. A killed process leaves no
// lock behind.
func take(dir string) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(dir, lockName)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600) // else everyone could read it, and wonder
	if err != nil {
		return nil, err
	}
	// Closed before it is locked: to close a file gives a process's locks of it back.
	if err := f.Close(); err != nil {
		return nil, err
	}
	lock, err := vfs.Default.Lock(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", dir, ErrBusy, err)
	}
	return lock, nil
}

// finish does what a run that was ended left to do.
func (c *users) finish(dir string, step func()) error {
	left, err := filepath.Glob(filepath.Join(globbed(dir), "*"+unfinished))
	if err != nil {
		return err
	}
	for _, file := range left {
		place := strings.TrimSuffix(file, unfinished)
		switch base := filepath.Base(place); {
		case c.knows(file, strings.TrimSuffix(base, LoginSuffix)):
			err = os.Rename(file, place)
		case base == ConfigName || strings.HasSuffix(base, LoginSuffix):
			err = os.Remove(file)
		}
		if err != nil {
			return err
		}
		step()
	}
	return nil
}

// globbed is a directory as a pattern that only it fits.
func globbed(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// knows reports whether a file has the login of a user as the configuration has it.
func (c *users) knows(file, name string) bool {
	l, err := login.Read(file)
	u := c.find(name)
	return err == nil && u != nil && l.User == name && u.checks(l.Password)
}

// checks reports whether the password is the user's.
func (u *user) checks(password string) bool {
	return bcrypt.CompareHashAndPassword([]byte(u.hash), []byte(password)) == nil
}

// want makes the users those that are asked for, and changes no file but the mode of one.
func (c *users) want(dir string, w Want) ([]Written, error) {
	if c.isolated && !w.Isolate {
		return nil, fmt.Errorf("%s: %w, and would not be any more", dir, ErrIsolated)
	}
	c.isolated = w.Isolate
	if err := c.remove(w.Remove); err != nil {
		return nil, err
	}
	if err := c.add(w.Gateways); err != nil {
		return nil, err
	}
	// Who is removed and added at once is another one.
	return c.logins(dir, w.Rotate, w.Remove)
}

// save writes what there is to write, in the order that a run may end in. A login that is
// to go goes first: left without its user it would be taken for his again, if he came back.
func (c *users) save(dir string, remove []string, step func()) error {
	for _, name := range remove {
		if err := os.Remove(filepath.Join(dir, name+LoginSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		step()
	}
	place := func(u user) string { return filepath.Join(dir, u.name+LoginSuffix) }
	fresh := slices.DeleteFunc(slices.Clone(c.list), func(u user) bool { return u.password == "" })
	for _, u := range fresh {
		if err := begin(place(u), login.Login{User: u.name, Password: u.password}.Encode()); err != nil {
			return err
		}
		step()
	}
	config := filepath.Join(dir, ConfigName)
	if err := begin(config, c.render()); err != nil {
		return err
	}
	step()
	// What is on the disk in another order than it was written in is no order.
	if err := errors.Join(syncDir(dir), os.Rename(config+unfinished, config), syncDir(dir)); err != nil {
		return err
	}
	step()
	for _, u := range fresh {
		if err := os.Rename(place(u)+unfinished, place(u)); err != nil {
			return err
		}
		step()
	}
	return syncDir(dir)
}

// begin writes what a file shall have beside it.
func begin(path string, data []byte) error {
	f, err := os.OpenFile(path+unfinished, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, failed := f.Write(data)
	return errors.Join(failed, f.Sync(), f.Close())
}

func syncDir(dir string) error {
	d, err := vfs.Default.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
