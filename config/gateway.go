package config

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"
)

// Gateway is the configuration of the gateway, but for its connections.
type Gateway struct {
	StoreNATSURL  string
	StoreNATSUser string // file of who we are there; "" = as the URL or the token says
	NATSCA        string // file of certificates; "" = the system's
	HTTPAddr      string
	HTTPTLS       KeyPair
	KeysFile      string
	Connections   string        // the JSON itself, "" = in the file
	File          string        // of the connections
	Timeout       time.Duration // within which the engine has to answer
	MaxWait       time.Duration // for room at an account; 0 = none
	FailClosed    bool
	APIToken      string
	LogLevel      slog.Level
}

// DefaultGateway is the configuration of a gateway that was told nothing but its
// connections, and whose client waits so long for the engine. The broker is the one
// that an engine of the same defaults runs.
func DefaultGateway(timeout time.Duration) Gateway {
	return Gateway{
		StoreNATSURL: "nats://" + Default().NATSAddr, HTTPAddr: "127.0.0.1:8482", KeysFile: KeysFile("", ""),
		Timeout: timeout, LogLevel: slog.LevelInfo,
	}
}

// KeysFile returns where the clients' tokens are, for the gateway and for those who
// issue them: in the file that was named, else in the data directory, and that is the
// engine's unless one was named.
func KeysFile(named, dataDir string) string {
	return cmp.Or(named, filepath.Join(cmp.Or(dataDir, Default().DataDir), "keys.json"))
}

// GatewayText is the configuration of the gateway as it was given; "" means not given.
type GatewayText struct {
	StoreNatsURL       string `name:"store-nats-url" placeholder:"URL" help:"The log's NATS server, where the engine is asked (nats://127.0.0.1:4222)."`
	StoreNatsUser      string `placeholder:"FILE" help:"Who we are to that server: a file with name:password, as quotashare nats-config makes it."`
	NatsCA             string `name:"nats-ca" placeholder:"FILE" help:"Certificates that NATS servers' are checked with (the system's)."`
	HTTPCert           string `name:"http-cert" placeholder:"FILE" help:"Certificate of the gateway; with it, clients must use https."`
	HTTPKey            string `name:"http-key" placeholder:"FILE" help:"The key of that certificate."`
	HTTPAddr           string `name:"http-addr" placeholder:"ADDR" help:"Where clients reach the gateway (127.0.0.1:8482)."`
	GatewayConfig      string `placeholder:"FILE" help:"The providers' connections, as JSON."`
	GatewayConnections string `placeholder:"JSON" help:"The same without a file: the array of connections."`
	DataDir            string `placeholder:"DIR" help:"Where keys.json is, unless --keys-file says so, and where usage waits while the log is away (./data)."`
	KeysFile           string `placeholder:"FILE" help:"The clients' tokens, from quotashare keys issue (keys.json in the data directory)."`
	DecideTimeout      string `placeholder:"TIME" help:"How long a request waits for the engine's answer (250ms)."`
	MaxWait            string `placeholder:"TIME" help:"How long a request may wait for room when its accounts have as many as they take (0s)."`
	FailClosed         string `type:"switch" help:"A request without an answer is blocked instead of passed; or =true, =false (false)."`
	APIToken           string `name:"api-token" placeholder:"TOKEN" help:"What the engine asks for beyond its own machine, and what shows /metrics to other machines."`
	LogLevel           string `placeholder:"LEVEL" help:"debug, info, warn or error (info)."`
}

// Parse reads the text over g, usually DefaultGateway(). An error is of type Faults and
// names everything that is wrong.
func (t GatewayText) Parse(g Gateway) (Gateway, error) {
	p := parser{given: map[string]string{}}
	p.text(t.StoreNatsURL, &g.StoreNATSURL)
	p.text(t.StoreNatsUser, &g.StoreNATSUser)
	p.text(t.NatsCA, &g.NATSCA)
	p.text(t.HTTPAddr, &g.HTTPAddr)
	p.text(t.HTTPCert, &g.HTTPTLS.Cert)
	p.text(t.HTTPKey, &g.HTTPTLS.Key)
	p.text(t.GatewayConfig, &g.File)
	p.text(t.GatewayConnections, &g.Connections)
	if t.KeysFile != "" || t.DataDir != "" {
		g.KeysFile = KeysFile(t.KeysFile, t.DataDir)
	}
	p.text(t.APIToken, &g.APIToken)
	p.duration("decide-timeout", t.DecideTimeout, &g.Timeout)
	p.duration("max-wait", t.MaxWait, &g.MaxWait)
	p.flag("fail-closed", t.FailClosed, &g.FailClosed)
	p.level("log-level", t.LogLevel, &g.LogLevel)
	faults := p.faults
	for _, f := range g.faults() {
		f.Value = p.given[f.Flag]
		faults = append(faults, f)
	}
	if len(faults) > 0 {
		return g, faults
	}
	return g, nil
}

// maxTimeout is beyond what a client waits for a word of the engine, and mostWait for one
// of a provider: the SDKs give up then.
const (
	maxTimeout = time.Minute
	mostWait   = 10 * time.Minute
)

func (g Gateway) faults() Faults {
	var f Faults
	f.natsURL(g.StoreNATSURL)
	f.addr("http-addr", g.HTTPAddr, "-") // clients have tokens of their own
	f.pair("http", g.HTTPTLS)
	f.duration("decide-timeout", g.Timeout, maxTimeout)
	if g.MaxWait != 0 {
		f.duration("max-wait", g.MaxWait, mostWait)
	}
	switch {
	case g.File == "" && g.Connections == "":
		f.add("gateway-config", "is missing: name a file with the providers' connections, or set %s", Variable("gateway-connections"))
	case g.File != "" && g.Connections != "":
		f.add("gateway-connections", "is set beside %s: leave one of them out", Variable("gateway-config"))
	}
	return f
}

func (p *parser) flag(flag, text string, into *bool) {
	if text == "" {
		return
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		p.fail(flag, text, "is neither true nor false")
		return
	}
	*into = b
}
