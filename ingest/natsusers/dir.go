package natsusers

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/quotashare/quotashare/ingest/natsusers/login"
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
	ErrBusy      = errors.New("another quotashare nats-config is at work here")
)

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
	if who, not := login.Read(file); not == nil && !strings.ContainsAny(who.User, " {[") && (err != nil || len(o.Users) == 0) {
		return nil, fmt.Errorf("nats config %s: is the login of %s and no configuration: name %s of its directory, and this file where a program logs in, with --store-nats-user", file, who.User, ConfigName)
	}
	if err != nil {
		if strings.Contains(err.Error(), file) { // with the line
			return nil, fmt.Errorf("nats config: %w", err)
		}
		return nil, fmt.Errorf("nats config %s: %w", file, err)
	}
	if len(o.Users) == 0 {
		return nil, fmt.Errorf("nats config %s: users: it has none: make it with quotashare nats-config", file)
	}
	for _, u := range o.Users { // who answers has a right to each inbox, and the server would name his
		if !server.IsValidSubject(inbox(u.Username)) {
			return nil, fmt.Errorf("nats config %s: users: %q: the name is part of a subject: use letters, digits, - and _", file, u.Username)
		}
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

// remove takes gateways away.
func (c *users) remove(names []string) error {
	for _, name := range names {
		u := c.find(name)
		if u == nil || u.role() != Gateway {
			return fmt.Errorf("remove %q: %w among the gateways: there are %s", name, ErrNotUser, strings.Join(c.names(Gateway), ", "))
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
