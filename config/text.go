package config

import (
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/quotashare/quotashare/quota"
)

// Text is a configuration as it was given; "" means not given. The name of a
// field in the environment and on the command line is fixed by Variable.
type Text struct {
	DataDir                  string `placeholder:"DIR" help:"Where the log and the state are kept (./data)."`
	StoreDriver              string `placeholder:"NAME" help:"Home of the log: embedded, or nats for a server of yours (embedded)."`
	StoreNatsURL             string `name:"store-nats-url" placeholder:"URL" help:"That server, such as nats://nats.example:4222."`
	StoreNatsUser            string `placeholder:"FILE" help:"Who we are to that server: a file with name:password, as quotashare nats-config makes it."`
	NatsCA                   string `name:"nats-ca" placeholder:"FILE" help:"Certificates that other NATS servers' are checked with (the system's)."`
	NatsAddr                 string `placeholder:"ADDR" help:"Where the embedded NATS server listens (127.0.0.1:4222)."`
	NatsConfig               string `placeholder:"FILE" help:"Users of the embedded server and their rights, from quotashare nats-config."`
	NatsCert                 string `placeholder:"FILE" help:"Certificate of the embedded server; with it, clients must use TLS."`
	NatsKey                  string `placeholder:"FILE" help:"The key of that certificate."`
	ServerName               string `placeholder:"NAME" help:"Name of the embedded server, its own in a cluster (quotashare)."`
	ClusterName              string `placeholder:"NAME" help:"Cluster that the embedded server is a node of; none, and it is alone."`
	ClusterAddr              string `placeholder:"ADDR" help:"Where the other nodes reach this one (127.0.0.1:6222)."`
	ClusterRoutes            string `placeholder:"URLS" help:"Where this node finds the others, such as nats://b:6222,nats://c:6222."`
	Replicas                 string `placeholder:"N" help:"On how many nodes the log is kept (3 in a cluster, else 1)."`
	HTTPAddr                 string `name:"http-addr" placeholder:"ADDR" help:"Where the HTTP API listens (127.0.0.1:8480)."`
	HTTPCert                 string `name:"http-cert" placeholder:"FILE" help:"Certificate of the HTTP API; with it, clients must use https."`
	HTTPKey                  string `name:"http-key" placeholder:"FILE" help:"The key of that certificate."`
	HTTPHosts                string `name:"http-hosts" placeholder:"NAMES" help:"Host names the HTTP API answers to beside localhost, separated by commas."`
	Sync                     string `placeholder:"WHEN" help:"When the log goes to disk: always, or every so often such as 100ms (always)."`
	SaturationThreshold      string `placeholder:"0..1" help:"From which part of a limit on shares are enforced (0.5)."`
	SoftDeprioritizeFactor   string `placeholder:"0..1" help:"What a deprioritized request's score is multiplied by (0.7)."`
	ConsumptionRetentionDays string `placeholder:"DAYS" help:"How long usage history is kept (14)."`
	SignalTTL                string `name:"signal-ttl" placeholder:"TIME" help:"How long a provider's reading without a reset time holds (30s)."`
	HoldTTL                  string `name:"hold-ttl" placeholder:"TIME" help:"How long a request in flight is held for when it does not say (300s)."`
	MaxLag                   string `placeholder:"TIME" help:"From which lag on answers are called degraded (5s)."`
	SnapshotInterval         string `placeholder:"TIME" help:"How often the state is saved whole (10m)."`
	SnapshotKeep             string `placeholder:"N" help:"How many of those are kept (5)."`
	APIToken                 string `name:"api-token" placeholder:"TOKEN" help:"What HTTP clients must present; needed to listen beyond this machine."`
	TokensFile               string `placeholder:"FILE" help:"Tokens with roles, from quotashare tokens add; with it, everybody must present one."`
	LogLevel                 string `placeholder:"LEVEL" help:"debug, info, warn or error (info)."`
}

// Variable returns the name in the environment of a flag: "data-dir" is
// QUOTA_DATA_DIR.
func Variable(flag string) string {
	return "QUOTA_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Variables returns the names of everything that the environment can set, of any
// program: one file of variables may be for all of them.
func Variables() []string {
	var names []string
	for _, text := range []reflect.Type{reflect.TypeFor[Text](), reflect.TypeFor[GatewayText]()} {
		for f := range text.Fields() {
			flag := f.Tag.Get("name")
			if flag == "" {
				flag = kebab(f.Name)
			}
			if name := Variable(flag); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// kebab writes DataDir as data-dir, the way the command line's parser does.
func kebab(name string) string {
	var b strings.Builder
	for i, c := range name {
		if i > 0 && unicode.IsUpper(c) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// Parse reads the text over c, usually Default(), and validates the result. An
// error is of type Faults and names everything that is wrong.
func (t Text) Parse(c Config) (Config, error) {
	p := parser{given: map[string]string{}}
	p.text(t.DataDir, &c.DataDir)
	p.text(t.StoreDriver, &c.StoreDriver)
	p.text(t.StoreNatsURL, &c.StoreNATSURL)
	p.text(t.StoreNatsUser, &c.StoreNATSUser)
	p.text(t.NatsCA, &c.NATSCA)
	p.text(t.NatsAddr, &c.NATSAddr)
	p.text(t.NatsConfig, &c.NATSConfig)
	p.text(t.NatsCert, &c.NATSTLS.Cert)
	p.text(t.NatsKey, &c.NATSTLS.Key)
	p.cluster(t, &c)
	p.text(t.HTTPAddr, &c.HTTPAddr)
	p.text(t.HTTPCert, &c.HTTPTLS.Cert)
	p.text(t.HTTPKey, &c.HTTPTLS.Key)
	p.text(t.APIToken, &c.APIToken)
	p.text(t.TokensFile, &c.TokensFile)
	p.list(t.HTTPHosts, &c.HTTPHosts)
	p.sync("sync", t.Sync, &c.Sync)
	p.duration("snapshot-interval", t.SnapshotInterval, &c.SnapshotInterval)
	p.level("log-level", t.LogLevel, &c.LogLevel)
	keep := int64(c.SnapshotKeep)
	p.whole("snapshot-keep", t.SnapshotKeep, &keep)
	c.SnapshotKeep = int(keep)
	p.settings(t, &c)
	faults := p.faults
	for _, f := range c.faults() {
		f.Value = p.given[f.Flag]
		faults = append(faults, f)
	}
	if len(faults) > 0 {
		return c, faults
	}
	return c, nil
}

// cluster reads what makes the embedded server one of several. A log has three copies
// there unless somebody says otherwise.
func (p *parser) cluster(t Text, c *Config) {
	p.text(t.ServerName, &c.ServerName)
	p.text(t.ClusterName, &c.ClusterName)
	p.text(t.ClusterAddr, &c.ClusterAddr)
	p.list(t.ClusterRoutes, &c.ClusterRoutes)
	replicas := int64(c.Replicas)
	if c.ClusterName != "" {
		replicas = clusterReplicas
	}
	p.whole("replicas", t.Replicas, &replicas)
	c.Replicas = int(replicas)
}

// settings reads those values that the engine keeps in the log.
func (p *parser) settings(t Text, c *Config) {
	if p.ratio("saturation-threshold", t.SaturationThreshold, &c.SaturationThreshold) {
		c.give("saturationThreshold", c.SaturationThreshold.String())
	}
	if p.ratio("soft-deprioritize-factor", t.SoftDeprioritizeFactor, &c.SoftDeprioritizeFactor) {
		c.give("softDeprioritizeFactor", c.SoftDeprioritizeFactor.String())
	}
	if p.whole("consumption-retention-days", t.ConsumptionRetentionDays, &c.ConsumptionRetentionDays) {
		c.give("consumptionRetentionDays", strconv.FormatInt(c.ConsumptionRetentionDays, 10))
	}
	for _, d := range []struct {
		flag, text, name string
		into             *time.Duration
	}{
		{"signal-ttl", t.SignalTTL, "signalTtlMs", &c.SignalTTL},
		{"hold-ttl", t.HoldTTL, "holdTtlMs", &c.HoldTTL},
		{"max-lag", t.MaxLag, "maxLagMs", &c.MaxLag},
	} {
		if p.duration(d.flag, d.text, d.into) {
			c.give(d.name, strconv.FormatInt(d.into.Milliseconds(), 10))
		}
	}
}

func (c *Config) give(name, value string) {
	c.Given = append(c.Given, Setting{Name: name, Value: value})
}

// parser reads values and collects what is wrong with them.
type parser struct {
	given  map[string]string // by flag, what could be read
	faults Faults
}

// fail records a fault; it returns false, so that a reader can return it.
func (p *parser) fail(flag, value, problem string) bool {
	p.faults = append(p.faults, Fault{Flag: flag, Value: value, Problem: problem})
	return false
}

func (p *parser) text(text string, into *string) {
	if text != "" {
		*into = text
	}
}

func (p *parser) list(text string, into *[]string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			*into = append(*into, item)
		}
	}
}

func (p *parser) ratio(flag, text string, into *quota.Ratio) bool {
	if text == "" {
		return false
	}
	r, err := quota.ParseRatio(text)
	if err != nil {
		return p.fail(flag, text, err.Error())
	}
	*into, p.given[flag] = r, text
	return true
}

func (p *parser) whole(flag, text string, into *int64) bool {
	if text == "" {
		return false
	}
	n, err := quota.ParseInt(text)
	if err != nil {
		return p.fail(flag, text, err.Error()+"; use a whole number")
	}
	*into, p.given[flag] = n, text
	return true
}

func (p *parser) duration(flag, text string, into *time.Duration) bool {
	if text == "" {
		return false
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return p.fail(flag, text, "is no duration; use 500ms, 30s, 10m or alike")
	}
	*into, p.given[flag] = d, text
	return true
}

// sync reads "always" as 0. A 0 that was written is refused: the reader of the
// next line would not know whether it means always or never.
func (p *parser) sync(flag, text string, into *time.Duration) {
	switch d, err := time.ParseDuration(text); {
	case text == "":
	case text == "always":
		*into = 0
	case err != nil:
		p.fail(flag, text, "is neither always nor a duration such as 100ms")
	case d < minSync || d > maxSync:
		p.fail(flag, text, "is not within 1ms..1h; use always to sync before every acknowledgement")
	default:
		*into = d
	}
}

func (p *parser) level(flag, text string, into *slog.Level) {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	level, ok := levels[text]
	switch {
	case ok:
		*into = level
	case text != "":
		p.fail(flag, text, "is none of debug, info, warn and error")
	}
}
