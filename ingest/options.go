package ingest

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/ingest/natsusers"
)

// Options says where and how the embedded server runs.
type Options struct {
	Name    string        // of the server; "" = quotashare
	Dir     string        // its own directory; created when missing
	Addr    string        // host:port to listen on; port 0 or -1 picks a free one
	Alone   bool          // no listener, and no Addr: only Connect reaches it
	Sync    time.Duration // 0 = fsync before every acknowledgement
	Token   string        // "" = clients need none
	Users   string        // file of users and their rights, in place of a token; "" = there are none
	TLS     *tls.Config   // with GetCertificate; nil = clients speak in the clear
	Cluster *Cluster      // nil = it has no other nodes
	Logger  *slog.Logger  // nil = the default logger
}

// Cluster makes the server one node of several. The names of the nodes must differ.
type Cluster struct {
	Name   string
	Addr   string      // host:port where the other nodes reach this one
	Routes []string    // URLs of the others; its own among them is no harm
	TLS    *tls.Config // nil = the nodes speak in the clear
}

// A client that says nothing is given up after maxPings pings without an answer
// and one interval more, 9 s. Until then a decider whose machine is gone is sent
// its share of all questions, and each of those is a time-out at a gateway; by
// default that would go on for 6 minutes. A process that ends is noticed at once,
// because its system closes its connection. What holds for clients holds for nodes.
const (
	pingInterval = 3 * time.Second
	maxPings     = 2
)

// unlimitedStore is more than any disk, and far from where sums overflow.
const unlimitedStore = 1 << 60

// defaultName is what a server is called that is alone.
const defaultName = "quotashare"

// natsOptions says it to the server; own is what a client of this process has to say.
func natsOptions(o Options) (opts *server.Options, own []nats.Option, err error) {
	opts = &server.Options{
		ServerName: defaultName,
		DontListen: o.Alone,
		JetStream:  true,
		// The disk is the limit. By default the server takes three quarters of
		// what was free when it started, and after a restart may have less than
		// it holds already.
		JetStreamMaxStore:      unlimitedStore,
		StoreDir:               o.Dir,
		SyncAlways:             o.Sync == 0,
		SyncInterval:           o.Sync,
		Authorization:          o.Token,
		TLS:                    o.TLS != nil,
		TLSConfig:              o.TLS,
		PingInterval:           pingInterval,
		MaxPingsOut:            maxPings,
		NoSigs:                 true,
		DisableJetStreamBanner: true,
	}
	if o.Name != "" {
		opts.ServerName = o.Name
	}
	if !o.Alone {
		if opts.Host, opts.Port, err = splitAddr("nats", o.Addr); err != nil {
			return nil, nil, err
		}
	}
	if o.Cluster != nil {
		if err := o.Cluster.into(opts); err != nil {
			return nil, nil, err
		}
	}
	user, err := o.users(opts)
	if err == nil && o.Cluster != nil {
		err = guarded(opts)
	}
	return opts, append(o.own(), user...), err
}

// ErrOpenCluster says that whoever reaches the port of the nodes could be one, and would
// have the log.
var ErrOpenCluster = errors.New("other machines can reach it, and nodes have neither a password nor certificates")

// guarded reports a port of nodes that anybody could use.
func guarded(opts *server.Options) error {
	c := &opts.Cluster
	ip := net.ParseIP(c.Host)
	if c.Password != "" || c.TLSConfig != nil || c.Host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("cluster address %s: %w: make the users with quotashare nats-config, which gives the nodes a password", net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), ErrOpenCluster)
}

// users gives the server its users, and says which of them the process is. One that reads
// a copy looks for the log wherever it is.
func (o *Options) users(opts *server.Options) ([]nats.Option, error) {
	file := o.Users
	apply := natsusers.Apply
	switch err := natsusers.CheckDir(o.Dir, false); {
	case file != "":
	case err == nil:
		return nil, nil
	case !o.Alone:
		return nil, err
	default:
		apply = natsusers.ApplyIsolated
	}
	user, err := apply(file, opts)
	return user.Options(), err
}

// into says it to the server.
func (c *Cluster) into(opts *server.Options) error {
	host, port, err := splitAddr("cluster", c.Addr)
	if err != nil {
		return err
	}
	o := &opts.Cluster
	o.Name, o.Host, o.Port, o.TLSConfig = c.Name, host, port, c.TLS
	o.PingInterval, o.MaxPingsOut = pingInterval, maxPings
	for _, text := range c.Routes {
		route, err := url.Parse(text)
		if err != nil {
			return fmt.Errorf("cluster route: %w", err)
		}
		opts.Routes = append(opts.Routes, route)
	}
	return nil
}

// own is what a client of this process says, but for a user.
func (o *Options) own() []nats.Option {
	opts := []nats.Option{nats.IgnoreDiscoveredServers()}
	if o.Token != "" {
		opts = append(opts, nats.Token(o.Token))
	}
	if o.TLS != nil {
		opts = append(opts, nats.Secure(itself(o.TLS)))
	}
	return opts
}

// itself knows a server by the certificate that it has in this very process. Its name may
// be one that leads elsewhere from here, and who signed it does not matter.
func itself(of *tls.Config) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection does more
		VerifyConnection: func(c tls.ConnectionState) error {
			want, err := of.GetCertificate(&tls.ClientHelloInfo{})
			if err == nil && !bytes.Equal(c.PeerCertificates[0].Raw, want.Certificate[0]) {
				err = errors.New("another server answers at the address of ours")
			}
			return err
		},
	}
}

// splitAddr turns host:port into what nats-server wants, where a free port is
// -1 and 0 would be its default port.
func splitAddr(of, addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("%s address %q: %w", of, addr, err)
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < -1 || port > 65535 {
		return "", 0, fmt.Errorf("%s address %q: the port is not 0..65535", of, addr)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}
