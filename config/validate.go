package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/quotashare/quotashare/quota"
)

// The ranges. A sync below a millisecond is a typing error that would keep the
// disk busy; a lease beyond an hour is what the engine refuses everywhere.
const (
	minSync      = time.Millisecond
	maxSync      = time.Hour
	maxLease     = time.Hour
	maxLag       = time.Hour
	maxDuration  = 24 * time.Hour
	maxRetention = 3650 // days
	minKeep      = 2    // snapshots: of one alone there is none when it is damaged, and the log forgets what it has
	maxKeep      = 1000
)

// Fault is one thing that is wrong.
type Fault struct {
	Flag    string // without dashes; Variable gives the other name
	Value   string // as given, "" when it is a default or a combination
	Problem string
}

// Error says it in one line, under both names, because the person may have
// used either.
func (f Fault) Error() string {
	text := Variable(f.Flag) + " (--" + f.Flag + ")"
	if f.Value != "" {
		text += " " + strconv.Quote(f.Value)
	}
	return text + " " + f.Problem
}

// Faults is everything that is wrong with a configuration.
type Faults []Fault

// Error has one line for each fault.
func (f Faults) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the configuration has %d fault(s):", len(f))
	for _, fault := range f {
		b.WriteString("\n  " + fault.Error())
	}
	return b.String()
}

// Validate checks ranges and what must fit together. An error is of type
// Faults.
func (c Config) Validate() error {
	if faults := c.faults(); len(faults) > 0 {
		return faults
	}
	return nil
}

func (c Config) faults() Faults {
	var f Faults
	f.home(c)
	f.addr("nats-addr", c.NATSAddr, cmp.Or(c.NATSConfig, c.APIToken), "nats-config", "api-token")
	f.addr("http-addr", c.HTTPAddr, cmp.Or(c.APIToken, c.TokensFile), "api-token", "tokens-file")
	f.pair("nats", c.NATSTLS)
	f.pair("http", c.HTTPTLS)
	f.cluster(c)
	f.ratio("saturation-threshold", c.SaturationThreshold)
	f.ratio("soft-deprioritize-factor", c.SoftDeprioritizeFactor)
	f.whole("consumption-retention-days", c.ConsumptionRetentionDays, 1, maxRetention)
	f.whole("snapshot-keep", int64(c.SnapshotKeep), minKeep, maxKeep)
	f.duration("signal-ttl", c.SignalTTL, maxDuration)
	f.duration("hold-ttl", c.HoldTTL, maxLease)
	f.duration("max-lag", c.MaxLag, maxLag)
	f.duration("snapshot-interval", c.SnapshotInterval, maxDuration)
	return f
}

func (f *Faults) add(flag, format string, v ...any) {
	*f = append(*f, Fault{Flag: flag, Problem: fmt.Sprintf(format, v...)})
}

// home checks where the log lives. The driver nats without a URL is no fault of
// a program that owns a log: it falls back to that.
func (f *Faults) home(c Config) {
	if c.DataDir == "" {
		f.add("data-dir", "is empty; name a directory")
	}
	if c.StoreDriver != Embedded && c.StoreDriver != NATS {
		f.add("store-driver", "is %q; use %s or %s", c.StoreDriver, Embedded, NATS)
	}
	if c.LogElsewhere && c.StoreNATSURL == "" {
		f.add("store-nats-url", "is needed: this program has no log of its own; start quotashare up to have both in one")
	}
	if c.StoreNATSURL != "" && !f.natsURL(c.StoreNATSURL) {
		return
	}
	if c.StoreDriver == Embedded && c.StoreNATSURL != "" {
		f.add("store-nats-url", "is set, but the driver is embedded; set %s=%s to use it", Variable("store-driver"), NATS)
	}
}

// natsURL checks one or several, and reports whether they are right.
func (f *Faults) natsURL(list string) bool {
	for one := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" || (u.Scheme != "nats" && u.Scheme != "tls") {
			f.add("store-nats-url", "is no NATS URL; use nats://host:4222")
			return false
		}
	}
	return true
}

// pair checks that a certificate has its key.
func (f *Faults) pair(of string, k KeyPair) {
	switch {
	case k.Cert == "" && k.Key != "":
		f.add(of+"-cert", "is missing: %s is set, name the file of its certificate too", Variable(of+"-key"))
	case k.Key == "" && k.Cert != "":
		f.add(of+"-key", "is missing: %s is set, name the file of its key too", Variable(of+"-cert"))
	}
}

// mostReplicas is what the broker knows.
const mostReplicas = 5

// cluster checks what makes one server of several. The server's name tells the nodes
// apart, and what each of them stores belongs to it, so it is nothing to be made up anew
// at each start.
func (f *Faults) cluster(c Config) {
	f.whole("replicas", int64(c.Replicas), 1, mostReplicas)
	if c.ClusterName == "" {
		if len(c.ClusterRoutes) > 0 {
			f.add("cluster-routes", "is set, but the server is in no cluster: give %s the same name on all nodes", Variable("cluster-name"))
		}
		if c.StoreDriver == Embedded && c.Replicas > 1 {
			f.add("replicas", "asks for nodes, but the embedded server is alone; set %s, or leave it out", Variable("cluster-name"))
		}
		return
	}
	if c.StoreDriver != Embedded {
		f.add("cluster-name", "is of the embedded server, but the driver is %s; leave it out", c.StoreDriver)
	}
	if c.ServerName == defaultServer {
		f.add("server-name", "is needed in a cluster: a name for this node alone, which it keeps")
	}
	f.name("server-name", c.ServerName)
	f.name("cluster-name", c.ClusterName)
	if len(c.ClusterRoutes) == 0 {
		f.add("cluster-routes", "is needed in a cluster: where this node finds the others, such as nats://b:6222,nats://c:6222")
	}
	for _, route := range c.ClusterRoutes {
		if u, err := url.Parse(route); err != nil || u.Hostname() == "" || u.Port() == "" || (u.Scheme != "nats" && u.Scheme != "tls") {
			f.add("cluster-routes", "has %q, which is no route; use nats://host:6222", shownRoute(route))
		}
	}
	f.addr("cluster-addr", c.ClusterAddr, c.NATSConfig, "nats-config")
}

// shownRoute is a route that is none as it may be shown. A comma in a password makes two of
// one, so what is behind a colon may be the beginning of a password, and be no port.
func shownRoute(route string) string {
	if _, err := url.Parse(route); err != nil && !strings.Contains(route, "@") {
		if i := strings.LastIndex(route, ":"); i >= 0 {
			return route[:i+1] + "…"
		}
	}
	return WithoutSecrets(route)
}

// name checks a name that the broker makes subjects and files of.
func (f *Faults) name(flag, name string) {
	odd := func(r rune) bool {
		return (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) && (r < '0' || '9' < r) && r != '-' && r != '_'
	}
	if strings.ContainsFunc(name, odd) {
		f.add(flag, "is %q; use letters, digits, - and _", name)
	}
}

// addr checks an address to listen on. Anything but loopback needs a secret, which any of
// the other flags gives: whoever reaches the port could change quotas.
func (f *Faults) addr(flag, addr, secret string, others ...string) {
	host, port, err := net.SplitHostPort(addr)
	n, portErr := strconv.Atoi(port)
	switch {
	case err != nil || portErr != nil || n < 0 || n > 65535:
		f.add(flag, "is %q; use host:port", addr)
	case secret == "" && !Loopback(host):
		f.add(flag, "is %q, which other machines can reach; set %s, or listen on 127.0.0.1", addr, anyOf(others))
	}
}

// anyOf is a choice of variables, as people read it.
func anyOf(flags []string) string {
	var b strings.Builder
	for i, flag := range flags {
		if i > 0 {
			b.WriteString(" or ")
		}
		b.WriteString(Variable(flag))
	}
	return b.String()
}

// Loopback reports whether only this machine can reach a listener on that
// host. A name other than localhost is not looked up: what it means may change
// after it was checked.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

func (f *Faults) ratio(flag string, r quota.Ratio) {
	if r < 0 || r > quota.RatioOne {
		f.add(flag, "is not within 0..1")
	}
}

func (f *Faults) whole(flag string, n, low, high int64) {
	if n < low || n > high {
		f.add(flag, "is not within %d..%d", low, high)
	}
}

// duration checks a time that is kept in milliseconds.
func (f *Faults) duration(flag string, d, high time.Duration) {
	if d < time.Millisecond || d > high || d%time.Millisecond != 0 {
		f.add(flag, "is not within 1ms..%s in whole milliseconds", high)
	}
}
