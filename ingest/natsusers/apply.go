package natsusers

import (
	"crypto/rand"
	"fmt"
	"net/url"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/quotashare/quotashare/ingest/natsusers/login"
)

// Login is a user of a broker.
type Login = login.Login

// Apply reads a server configuration as Write makes it and brings its users, accounts,
// and the password of the cluster's routes into the options of a server, whose routes
// and directory must be there already. It adds a user of this process's own, with the
// rights of the roles ingest and decider, whose password is in memory alone. An error
// names the file.
func Apply(file string, o *server.Options) (own Login, err error) {
	read, err := server.ProcessConfigFile(file)
	if err != nil {
		return own, fmt.Errorf("nats config %s: %w", file, err)
	}
	if len(read.Users) == 0 {
		return own, fmt.Errorf("nats config %s: users: it has none: make it with quotashare nats-config", file)
	}
	o.Users, o.Nkeys, o.Accounts, o.SystemAccount, o.NoAuthUser = read.Users, read.Nkeys, read.Accounts, read.SystemAccount, read.NoAuthUser
	o.Cluster.Username, o.Cluster.Password = read.Cluster.Username, read.Cluster.Password
	for _, route := range o.Routes {
		if route.User == nil && o.Cluster.Username != "" {
			route.User = url.UserPassword(o.Cluster.Username, o.Cluster.Password)
		}
	}
	own = Login{User: ownUser, Password: rand.Text() + rand.Text()}
	o.Users = append(o.Users, &server.User{Username: own.User, Password: own.Password})
	return own, nil
}

// ownUser is the user of the process that runs the server.
const ownUser = "quotashare"
