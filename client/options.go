package client

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Options say where the engine is, and what becomes of requests when it is not.
// Only URL or Conn is needed.
type Options struct {
	URL  string     // of the broker, several parted by commas; or
	Conn *nats.Conn // a connection that stays the caller's. It should reconnect for ever

	// With URL: what the broker wants to see, and how it shows us.
	Token       string
	User        string // file with name:password, as quotashare nats-config makes it; read again at each connection
	CA          string // file of certificates that the broker's is checked with; "" = the system's
	Credentials string // file of a user's JWT and key
	InboxPrefix string // of the subjects that answers come to, where permissions allow no other
	Name        string // of the program; "" = quotashare-client

	Timeout    time.Duration // within which a question has its answer; 0 = DefaultTimeout
	FailClosed bool          // a question without an answer is a block, not an allow

	MaxEvents int // that may wait for the log in memory; 0 = DefaultMaxEvents
	MaxBytes  int // that they may have; 0 = DefaultMaxBytes

	// SpoolDir is where events are kept that the log does not take, up to 1 GiB, until it
	// does, also over the end of this program; "" = in memory alone. It is made when it is
	// not there, and is of one client at a time: New fails with spool.ErrInUse for a second.
	SpoolDir string

	Logger *slog.Logger // nil = the default logger
}

// Defaults of Options.
const (
	DefaultTimeout   = 250 * time.Millisecond
	DefaultMaxEvents = 100_000
	DefaultMaxBytes  = 64 << 20
)

// schemes are those that a broker is spoken to by.
var schemes = []string{"nats", "tls", "ws", "wss"}

// brokers yields the URLs of a list, nil for what is none.
func brokers(list string) iter.Seq[*url.URL] {
	return func(yield func(*url.URL) bool) {
		for text := range strings.SplitSeq(list, ",") {
			text = strings.TrimSpace(text)
			if !strings.Contains(text, "://") {
				text = "nats://" + text
			}
			u, err := url.Parse(text)
			if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
				u = nil
			}
			if !yield(u) {
				return
			}
		}
	}
}

func areBrokers(list string) bool {
	for u := range brokers(list) {
		if u == nil {
			return false
		}
	}
	return true
}

// hosts is the list as it may be shown: without names and tokens.
func hosts(list string) string {
	var all []string
	for u := range brokers(list) {
		if u != nil {
			all = append(all, u.Host)
		}
	}
	return strings.Join(all, ",")
}

// prepare returns the options with defaults, or all that is wrong with them.
func (o Options) prepare() (Options, error) {
	var faults []error
	fault := func(field, problem string) { faults = append(faults, fmt.Errorf("options.%s %s", field, problem)) }
	if (o.URL == "") == (o.Conn == nil) {
		fault("URL", "or Conn must be set, and not both: name the broker, or hand in a connection to it")
	}
	if o.Conn != nil && (o.Token != "" || o.User != "" || o.CA != "" || o.Credentials != "" || o.InboxPrefix != "" || o.Name != "") {
		fault("Conn", "is there beside Token, User, CA, Credentials, InboxPrefix or Name: connect with them")
	}
	if o.User != "" && o.Token != "" {
		fault("User", "is there beside Token: a broker wants to see one of them")
	}
	if o.URL != "" && !areBrokers(o.URL) {
		fault("URL", "is no URL of a broker: use nats://host:4222, several parted by commas")
	}
	if o.Timeout < 0 {
		fault("Timeout", "is negative: leave it out for 250 ms")
	}
	if o.MaxEvents < 0 {
		fault("MaxEvents", "is negative: leave it out for 100,000")
	}
	if o.MaxBytes < 0 {
		fault("MaxBytes", "is negative: leave it out for 64 MiB")
	}
	if o.Name == "" {
		o.Name = "quotashare-client"
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxEvents == 0 {
		o.MaxEvents = DefaultMaxEvents
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, errors.Join(faults...)
}
