package natsusers

import (
	"fmt"
	"strings"
)

const heading = `# Users of the broker of quotashare, and their rights. This file is for its owner alone.
#
#   quotashare up --nats-config FILE     (ingest too) runs a server with it
#   include FILE                         in the configuration of a nats-server does too
#
# quotashare nats-config makes it anew from the users that are in it, to add some, or to
# give them other passwords: what else was changed by hand is lost.
`

// answerWithin bounds how long the way back to another account is kept: longer than any
// question may wait.
const answerWithin = "10m"

// maxSubscriptions is how many a connection may have. A client has one for all its
// answers, a decider a dozen; without a bound one gateway's million take 300 MB of the
// server. It is for all users: the format has bounds for accounts, but not for users, and
// those who are not isolated share one account.
const maxSubscriptions = 1000

// render writes the configuration.
func (c *users) render() []byte {
	b := new(strings.Builder)
	b.WriteString(heading)
	fmt.Fprintf(b, "\n# Of one connection: more than any program here has, and so few that they cost the server little.\nmax_subscriptions: %d\n", maxSubscriptions)
	if c.isolated {
		c.renderAccounts(b)
	} else {
		b.WriteString("\nauthorization {\n  users: [\n")
		c.renderUsers(b, "")
		b.WriteString("  ]\n}\n")
	}
	fmt.Fprintf(b, `
# What the nodes of a cluster tell each other. A nats-server that has a block "cluster" of
# its own needs this line in there, and not here: the later of two such blocks counts alone.
cluster {
  authorization { user: %q, password: %q }
}
`, routesUser, c.routes)
	return []byte(b.String())
}

// routesUser is the name of nodes to each other.
const routesUser = "routes"

func (c *users) renderAccounts(b *strings.Builder) {
	b.WriteString("\naccounts {\n")
	fmt.Fprintf(b, "  %s {\n  jetstream: enabled\n  users: [\n", logAccount)
	c.renderUsers(b, logAccount)
	b.WriteString("  ]\n  exports: [\n")
	var gateways []string
	for _, u := range c.list {
		if u.role() == Gateway {
			gateways = append(gateways, c.account(u))
		}
	}
	services := table[Gateway].publish
	for _, s := range services {
		fmt.Fprintf(b, "    { service: %q, accounts: %s, response_threshold: %q }\n", s, list(gateways), answerWithin)
	}
	b.WriteString("  ]\n  }\n")
	for _, account := range gateways {
		fmt.Fprintf(b, "  %s {\n  users: [\n", account)
		c.renderUsers(b, account)
		b.WriteString("  ]\n  imports: [\n")
		for _, s := range services {
			fmt.Fprintf(b, "    { service: { account: %s, subject: %q } }\n", logAccount, s)
		}
		b.WriteString("  ]\n  }\n")
	}
	b.WriteString("}\n")
}

// renderUsers writes those of one account.
func (c *users) renderUsers(b *strings.Builder, account string) {
	for _, u := range c.list {
		if c.account(u) != account {
			continue
		}
		may := c.permissions(u)
		subscribe := "allow: " + list(may.Subscribe.Allow)
		if len(may.Subscribe.Deny) > 0 {
			subscribe += ", deny: " + list(may.Subscribe.Deny)
		}
		fmt.Fprintf(b, "    { user: %q, password: %q, permissions: {\n", u.name, u.hash)
		fmt.Fprintf(b, "        publish: { allow: %s }\n        subscribe: { %s }\n    } }\n", list(may.Publish.Allow), subscribe)
	}
}

// list writes names in quotes, as in some a $ stands that would be a variable's.
func list(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
