package natsusers

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// ConfigName is the name of the configuration in its directory, and LoginSuffix what
// comes behind the name of a user in that of his login.
const (
	ConfigName  = "nats.conf"
	LoginSuffix = ".user"
)

// Want is what a directory shall have.
type Want struct {
	Gateways []string // beside those there are; without any the one that is called gateway
	Rotate   []string // users who get another password
	Remove   []string // gateways who are users no more
	Isolate  bool
}

// Errors of Write that a program can tell apart.
var (
	ErrIsolated  = errors.New("the gateways are isolated")
	ErrNotUser   = errors.New("there is no such user")
	ErrOtherFile = errors.New("the password is not that of the configuration")
)

// Write makes the configuration in a directory, and the logins of its users. What is
// there stays: users, their passwords, and that gateways are isolated. All is written for
// its owner alone, each file whole or not at all, a login before the configuration that
// needs it.
func Write(dir string, w Want) ([]Written, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	c, err := load(filepath.Join(dir, ConfigName))
	if err != nil {
		return nil, err
	}
	if c.isolated && !w.Isolate {
		return nil, fmt.Errorf("%s: %w, and would not be any more", dir, ErrIsolated)
	}
	c.isolated = w.Isolate
	if err := c.remove(dir, w.Remove); err != nil {
		return nil, err
	}
	if err := c.add(w.Gateways); err != nil {
		return nil, err
	}
	made, err := c.logins(dir, w.Rotate)
	if err != nil {
		return nil, err
	}
	return made, replace(filepath.Join(dir, ConfigName), c.render())
}

// load reads the users of a configuration; none when it is not there.
func load(file string) (*users, error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return &users{routes: rand.Text()}, nil
	}
	o, err := read(file)
	if err != nil {
		return nil, err
	}
	return usersOf(o), nil
}

// read reads a configuration.
func read(file string) (*server.Options, error) {
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		if strings.Contains(err.Error(), file) { // with the line
			return nil, fmt.Errorf("nats config: %w", err)
		}
		return nil, fmt.Errorf("nats config %s: %w", file, err)
	}
	if len(o.Users) == 0 {
		return nil, fmt.Errorf("nats config %s: users: it has none: make it with quotashare nats-config", file)
	}
	return o, nil
}

// usersOf are the users of a configuration, in the order of their roles and names: the
// server has accounts in any order.
func usersOf(o *server.Options) *users {
	c := &users{isolated: len(o.Accounts) > 0, routes: cmp.Or(o.Cluster.Password, rand.Text())}
	for _, u := range o.Users {
		c.list = append(c.list, user{name: u.Username, hash: u.Password})
	}
	c.sort()
	return c
}

var inOrder = []Role{Ingest, Decider, Admin, Viewer, Gateway}

func (c *users) sort() {
	slices.SortFunc(c.list, func(a, b user) int {
		if byRole := slices.Index(inOrder, a.role()) - slices.Index(inOrder, b.role()); byRole != 0 {
			return byRole
		}
		return cmp.Compare(a.name, b.name)
	})
}

// remove takes gateways away, with their logins.
func (c *users) remove(dir string, names []string) error {
	for _, name := range names {
		u := c.find(name)
		if u == nil || u.role() != Gateway {
			return fmt.Errorf("remove %q: %w among the gateways: there are %s", name, ErrNotUser, strings.Join(c.names(Gateway), ", "))
		}
		if err := os.Remove(filepath.Join(dir, name+LoginSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		c.list = slices.DeleteFunc(c.list, func(u user) bool { return u.name == name })
	}
	return nil
}

// goodName is for what stands in subjects, in names of files and of accounts.
var goodName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// add adds the users of all roles, and gateways.
func (c *users) add(gateways []string) error {
	for _, name := range gateways {
		switch u := (user{name: name}); {
		case !goodName.MatchString(name):
			return fmt.Errorf("gateway %q: use 1 to 64 letters, digits, - and _", name)
		case u.role() != Gateway || name == ownUser || name == routesUser:
			return fmt.Errorf("gateway %q: the name is taken by a user who is none: choose another one", name)
		}
	}
	if len(gateways) == 0 && !slices.ContainsFunc(c.list, func(u user) bool { return u.role() == Gateway }) {
		gateways = []string{string(Gateway)}
	}
	for _, name := range slices.Concat([]string{string(Ingest), string(Decider), string(Admin), string(Viewer)}, gateways) {
		if c.find(name) == nil {
			c.list = append(c.list, user{name: name})
		}
	}
	c.sort()
	return nil
}

// replace writes a file that is there whole or not at all.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, failed := f.Write(data)
	if err := errors.Join(failed, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}
