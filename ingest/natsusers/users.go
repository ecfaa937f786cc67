package natsusers

import (
	"slices"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/quotashare/quotashare/ingest/natsusers/login"
)

// The accounts of isolated gateways. That of the log is named here; each gateway has one
// of its own, so that none can subscribe to what is answered to another, whatever inbox
// its client has.
const (
	logAccount    = "QUOTA"
	accountPrefix = "GATEWAY-"
)

// ownUser is the user of the process that runs the server.
const ownUser = "quotashare"

// answersFromAccounts are where answers to the questions of other accounts go.
const answersFromAccounts = "_R_.>"

// user is one of a configuration.
type user struct {
	name     string
	hash     string // of his password
	password string // one that is new; "" = nobody here knows it, or his login has it
}

// role is what the user is for: whoever is none of ours is a gateway.
func (u user) role() Role {
	if role := Role(u.name); role == Ingest || role == Decider || role == Admin || role == Viewer {
		return role
	}
	return Gateway
}

// users are those of a broker.
type users struct {
	list     []user
	isolated bool   // each gateway is in an account of its own
	routes   string // the password of the routes of a cluster
}

// account is where a user is; "" = the one that there is without any.
func (c *users) account(u user) string {
	switch {
	case !c.isolated:
		return ""
	case u.role() == Gateway:
		return accountPrefix + u.name
	}
	return logAccount
}

// permissions are what a user may do.
func (c *users) permissions(u user) *server.Permissions { return c.allow(table[u.role()], u.name) }

// allow adds to some rights those to a user's inbox, and to the inboxes of those who ask
// whom he answers.
func (c *users) allow(r rights, name string) *server.Permissions {
	publish := r.publish
	if r.answers {
		for _, u := range c.list {
			if asks := u.role() == Admin || u.role() == Gateway && !c.isolated; asks {
				publish = union(publish, c.inboxes(u.name))
			}
		}
		if c.isolated {
			publish = union(publish, []string{answersFromAccounts})
		}
	}
	all := &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: publish},
		Subscribe: &server.SubjectPermission{Allow: union(r.subscribe, c.inboxes(name))},
	}
	if name == string(Admin) && !c.isolated {
		// An admin's client that was told of no inbox is refused: what is answered to it
		// the gateway of that inbox would read too.
		all.Subscribe.Deny = []string{commonInbox}
	}
	return all
}

// commonInbox is where answers come to clients that were told of no other inbox.
const commonInbox = "_INBOX.>"

func inbox(name string) string { return login.Inbox(name) + ".>" }

// inboxes are those of a user. The one who is called gateway may use the common one, so
// that any client does without being told anything; nobody else may. So may a gateway that
// has an account of its own, and with it all inboxes there are.
func (c *users) inboxes(name string) []string {
	all := []string{inbox(name)}
	if u := (user{name: name}); name == string(Gateway) || c.isolated && u.role() == Gateway && name != ownUser {
		all = append(all, commonInbox)
	}
	return all
}

// names are those of the users of some roles, in order.
func (c *users) names(roles ...Role) []string {
	var all []string
	for _, u := range c.list {
		if slices.Contains(roles, u.role()) {
			all = append(all, u.name)
		}
	}
	return all
}

func (c *users) find(name string) *user {
	if i := slices.IndexFunc(c.list, func(u user) bool { return u.name == name }); i >= 0 {
		return &c.list[i]
	}
	return nil
}
