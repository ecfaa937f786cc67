package program

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/ingest/natsusers/login"
)

// Broker is a server that has the log, and who we are there.
type Broker struct {
	URL  string        // one, or several of a cluster, separated by commas
	User string        // file with name:password; "" = as the URL says
	CA   string        // file of certificates that the server's is checked with; "" = the system's
	Role string        // of the user that is needed there, for people; "" = any will do
	More []nats.Option // what else to say
}

// Options says it to the client library.
func (b *Broker) Options() ([]nats.Option, error) {
	opts := slices.Clone(b.More)
	if b.User != "" {
		user, err := login.From(b.User)
		if err != nil {
			return nil, fmt.Errorf("user of the log: %w", err)
		}
		opts = append(opts, user...)
	}
	if b.CA != "" {
		if _, err := Roots(b.CA); err != nil {
			return nil, err
		}
		opts = append(opts, nats.RootCAs(b.CA))
	}
	return opts, nil
}

// Login is the name of who we are, "" = nobody whom we know.
func (b *Broker) Login() string {
	if b.User != "" {
		who, _ := login.Read(b.User) // Options tells what is wrong with it
		return who.User
	}
	u, err := url.Parse(strings.TrimSpace(strings.Split(b.URL, ",")[0]))
	if err != nil || u.User == nil {
		return ""
	}
	if _, named := u.User.Password(); !named {
		return "" // a token stands where a name does
	}
	return u.User.Username()
}

// refused returns a handler of what a server says of its own accord. That the login lacks
// a right is said once for each connection: it is refused again and again.
func (b *Broker) refused(log *slog.Logger) (handle nats.ErrHandler, connected func()) {
	said := new(atomic.Bool)
	handle = func(_ *nats.Conn, _ *nats.Subscription, err error) {
		switch {
		case !errors.Is(err, nats.ErrPermissionViolation):
			log.Warn("the connection to the log has trouble", "err", err)
		case said.Swap(true):
		case b.Role == "":
			log.Error("the broker does not let us do what this program does", "login", b.Login(), "err", err)
		default:
			log.Error("the broker does not let us do what this program does; trying again: name the login of a user of that role, from quotashare nats-config, with --store-nats-user",
				"login", b.Login(), "role", b.Role, "err", err)
		}
	}
	return handle, func() { said.Store(false) }
}
