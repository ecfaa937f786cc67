package natsusers

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/crypto/bcrypt"

	"github.com/quotashare/quotashare/ingest/natsusers/login"
)

// Login is a user of a broker.
type Login = login.Login

// Apply reads a server configuration as Write makes it and brings its users, accounts,
// and the password of the cluster's routes into the options of a server, whose routes
// and directory must be there already. It adds a user of this process's own, with the
// rights of the roles ingest and decider, whose password is in memory alone. An error
// names the file, and is ErrElsewhere when the directory has the log of an account that
// the server would not look into.
func Apply(file string, o *server.Options) (own Login, err error) {
	from, err := read(file)
	if err != nil {
		return own, err
	}
	return apply(file, from, o)
}

// ApplyIsolated is Apply for a log that is in an account of its own, for which there is no
// configuration at hand: a copy of it, which nobody but this process connects to.
func ApplyIsolated(_ string, o *server.Options) (own Login, err error) {
	from := new(server.Options)
	if err := from.ProcessConfigString("accounts { " + logAccount + " { jetstream: enabled } }"); err != nil {
		return own, err
	}
	return apply("", from, o)
}

func apply(file string, from, o *server.Options) (own Login, err error) {
	c := usersOf(from)
	if err := CheckDir(o.StoreDir, c.isolated); err != nil {
		return own, fmt.Errorf("nats config %s: %w", file, err)
	}
	u := &server.User{Username: ownUser, Permissions: c.allow(ownRights(), ownUser)}
	if u.Account, err = accountOf(from, c); err != nil {
		return own, fmt.Errorf("nats config %s: %w", file, err)
	}
	own = Login{User: ownUser, Password: rand.Text()}
	hash, err := bcrypt.GenerateFromPassword([]byte(own.Password), cost) // the server warns of one that is none
	if err != nil {
		return own, err
	}
	u.Password = string(hash)
	o.Users, o.Accounts, o.SystemAccount = append(from.Users, u), from.Accounts, from.SystemAccount
	o.MaxSubs = cmp.Or(from.MaxSubs, maxSubscriptions) // of an earlier version, whose file has none, too
	o.Cluster.Username, o.Cluster.Password = from.Cluster.Username, from.Cluster.Password
	for _, route := range o.Routes {
		if route.User == nil && o.Cluster.Username != "" {
			route.User = url.UserPassword(o.Cluster.Username, o.Cluster.Password)
		}
	}
	return own, nil
}

// accountOf is the account that has the log; nil = the one that there is without any.
func accountOf(o *server.Options, c *users) (*server.Account, error) {
	if !c.isolated {
		return nil, nil
	}
	i := slices.IndexFunc(o.Accounts, func(a *server.Account) bool { return a.Name == logAccount })
	if i < 0 {
		return nil, fmt.Errorf("accounts: there are some, and none is %s: make it with quotashare nats-config", logAccount)
	}
	return o.Accounts[i], nil
}

// ErrElsewhere says that a directory has a log, and the server would begin another one.
var ErrElsewhere = errors.New("the log is in another account")

// CheckDir reports a log in the directory of a server that it would not find, because it
// is in another account than the one of that configuration. The error says what to do.
func CheckDir(dir string, isolated bool) error {
	// The account that there is without any is $G.
	have, want := logAccount, "$G"
	if isolated {
		have, want = want, have
	}
	in := func(account string) string { return filepath.Join(dir, server.JetStreamStoreDir, account) }
	if _, err := os.Stat(filepath.Join(in(have), "streams", "QUOTA")); err != nil {
		return nil // there is none, or none that a server could read
	}
	return fmt.Errorf("%w: %s has one of the account %s, and this configuration looks for it in %s: "+
		"stop all servers and move it, as in mv '%s' '%s', or start without nats-config --isolate as before", ErrElsewhere, dir, have, want, in(have), in(want))
}
