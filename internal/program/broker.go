package program

import (
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/ingest/natsusers/login"
)

// Broker is a server that has the log, and who we are there.
type Broker struct {
	URL  string        // one, or several of a cluster, separated by commas
	User string        // file with name:password; "" = as the URL says
	CA   string        // file of certificates that the server's is checked with; "" = the system's
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
