package assembly

import (
	"fmt"
	"io"
	"net"
	"net/url"
)

// Listening is where a started process can be reached from its own machine.
type Listening struct {
	NATS     string // URL
	HTTP     string // URL
	HTTPCert string // file, when it is https
	NATSCert string // file, when clients of the own NATS server must use TLS
	DataDir  string
	Own      bool // the NATS server is this process
	Token    bool // HTTP asks for one
	Decides  bool // it answers; else it only takes events
	NATSAll  bool // the own NATS server listens on every address of the machine
	HTTPAll  bool // so does HTTP
}

// NATSAddr is the host and port of the NATS server, as --nats-addr takes it.
func (l Listening) NATSAddr() string { return hostOf(l.NATS) }

// HTTPAddr is the host and port of the HTTP API, as --http-addr takes it.
func (l Listening) HTTPAddr() string { return hostOf(l.HTTP) }

func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return u.Host
}

// Print says it in plain words.
func (l Listening) Print(w io.Writer) {
	nats := "the log, which somebody else runs"
	if l.Own {
		nats = "publish events and ask quota.decide here, from any language"
	}
	http := "the dashboard, in a browser, and the API, which curl lists"
	if !l.Decides {
		http = "takes events at /api/quota/events; ask a decider for anything else"
	}
	fmt.Fprintf(w, "  NATS   %-28s %s%s\n", l.NATS, nats, everywhere(l.NATSAll))
	fmt.Fprintf(w, "  HTTP   %-28s %s%s\n", l.HTTP, http, everywhere(l.HTTPAll))
	fmt.Fprintf(w, "  data   %s\n", l.DataDir)
}

func everywhere(all bool) string {
	if all {
		return "; and on every other address of this machine"
	}
	return ""
}

// dialable is a URL of a server on this machine as one can connect to it: nobody can
// to the address that stands for all of them.
func dialable(text string) (at string, all bool) {
	u, err := url.Parse(text)
	if err != nil {
		return text, false
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "" && (ip == nil || !ip.IsUnspecified()) {
		return text, false
	}
	u.Host = net.JoinHostPort("127.0.0.1", u.Port())
	return u.String(), true
}
