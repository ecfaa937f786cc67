package config

import (
	"errors"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNothingGivenIsTheDefault(t *testing.T) {
	got, err := Text{}.Parse(Default())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), got); diff != "" {
		t.Errorf("nothing was given, yet (-default +got):\n%s", diff)
	}
}

func TestEverythingCanBeGiven(t *testing.T) {
	got, err := Text{
		DataDir: "/srv/q", StoreDriver: "nats", StoreNatsURL: "nats://a:4222,tls://b:4222",
		NatsAddr: "0.0.0.0:4333", HTTPAddr: ":80", HTTPHosts: " quota.example , other.example,",
		Sync: "100ms", SaturationThreshold: "0.80", SoftDeprioritizeFactor: "1",
		ConsumptionRetentionDays: "30", SignalTTL: "1m", HoldTTL: "1h", MaxLag: "1ms",
		SnapshotInterval: "1h", SnapshotKeep: "2", APIToken: "secret", TokensFile: "/etc/tokens.json", LogLevel: "debug",
		StoreNatsUser: "/etc/decider.user", NatsCA: "/etc/ca.pem", NatsConfig: "/etc/nats.conf", NatsCert: "/etc/nats.pem", NatsKey: "/etc/nats.key",
		ServerName: "a", ClusterAddr: "10.0.0.1:6222", Replicas: "5", HTTPCert: "/etc/http.pem", HTTPKey: "/etc/http.key",
	}.Parse(Default())
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		DataDir: "/srv/q", StoreDriver: NATS, StoreNATSURL: "nats://a:4222,tls://b:4222",
		NATSAddr: "0.0.0.0:4333", HTTPAddr: ":80", HTTPHosts: []string{"quota.example", "other.example"},
		Sync: 100 * time.Millisecond, SaturationThreshold: 800_000, SoftDeprioritizeFactor: 1_000_000,
		ConsumptionRetentionDays: 30, SignalTTL: time.Minute, HoldTTL: time.Hour, MaxLag: time.Millisecond,
		SnapshotInterval: time.Hour, SnapshotKeep: 2, APIToken: "secret", TokensFile: "/etc/tokens.json", LogLevel: slog.LevelDebug,
		StoreNATSUser: "/etc/decider.user", NATSCA: "/etc/ca.pem", NATSConfig: "/etc/nats.conf", NATSTLS: KeyPair{"/etc/nats.pem", "/etc/nats.key"},
		ServerName: "a", ClusterAddr: "10.0.0.1:6222", Replicas: 5, HTTPTLS: KeyPair{"/etc/http.pem", "/etc/http.key"},
		Given: []Setting{
			{"saturationThreshold", "0.8"},
			{"softDeprioritizeFactor", "1"},
			{"consumptionRetentionDays", "30"},
			{"signalTtlMs", "60000"},
			{"holdTtlMs", "3600000"},
			{"maxLagMs", "1"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A person who got everything wrong learns of everything at the first start.
func TestAllFaultsAtOnce(t *testing.T) {
	_, err := Text{
		StoreDriver: "kafka", StoreNatsURL: "http://a", NatsAddr: "here", HTTPAddr: "0.0.0.0:8480",
		Sync: "often", SaturationThreshold: "abc", SoftDeprioritizeFactor: "NaN", ConsumptionRetentionDays: "1.5",
		SignalTTL: "30", HoldTTL: "2h", MaxLag: "-1s", SnapshotInterval: "soon", SnapshotKeep: "0", LogLevel: "loud",
	}.Parse(Default())
	const want = `the configuration has 14 fault(s):
  QUOTA_SYNC (--sync) "often" is neither always nor a duration such as 100ms
  QUOTA_SNAPSHOT_INTERVAL (--snapshot-interval) "soon" is no duration; use 500ms, 30s, 10m or alike
  QUOTA_LOG_LEVEL (--log-level) "loud" is none of debug, info, warn and error
  QUOTA_SATURATION_THRESHOLD (--saturation-threshold) "abc" is not a number
  QUOTA_SOFT_DEPRIORITIZE_FACTOR (--soft-deprioritize-factor) "NaN" is not a number
  QUOTA_CONSUMPTION_RETENTION_DAYS (--consumption-retention-days) "1.5" has too many decimals; use a whole number
  QUOTA_SIGNAL_TTL (--signal-ttl) "30" is no duration; use 500ms, 30s, 10m or alike
  QUOTA_STORE_DRIVER (--store-driver) is "kafka"; use embedded or nats
  QUOTA_STORE_NATS_URL (--store-nats-url) is no NATS URL; use nats://host:4222
  QUOTA_NATS_ADDR (--nats-addr) is "here"; use host:port
  QUOTA_HTTP_ADDR (--http-addr) is "0.0.0.0:8480", which other machines can reach; set QUOTA_API_TOKEN or QUOTA_TOKENS_FILE, or listen on 127.0.0.1
  QUOTA_SNAPSHOT_KEEP (--snapshot-keep) "0" is not within 2..1000
  QUOTA_HOLD_TTL (--hold-ttl) "2h" is not within 1ms..1h0m0s in whole milliseconds
  QUOTA_MAX_LAG (--max-lag) "-1s" is not within 1ms..1h0m0s in whole milliseconds`
	if err == nil {
		t.Fatal("nothing was wrong")
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var faults Faults
	if !errors.As(err, &faults) {
		t.Errorf("the error is a %T", err)
	}
}

func TestRanges(t *testing.T) {
	tests := []struct {
		name string
		text Text
		ok   bool
	}{
		{"threshold 0", Text{SaturationThreshold: "0"}, true},
		{"threshold 1", Text{SaturationThreshold: "1"}, true},
		{"threshold above", Text{SaturationThreshold: "1.000001"}, false},
		{"threshold below", Text{SaturationThreshold: "-0.000001"}, false},
		{"threshold too fine", Text{SaturationThreshold: "0.1234567"}, false},
		{"threshold infinite", Text{SaturationThreshold: "1e400"}, false},
		{"factor above", Text{SoftDeprioritizeFactor: "1.1"}, false},
		{"days 1", Text{ConsumptionRetentionDays: "1"}, true},
		{"days 0", Text{ConsumptionRetentionDays: "0"}, false},
		{"days 3650", Text{ConsumptionRetentionDays: "3650"}, true},
		{"days 3651", Text{ConsumptionRetentionDays: "3651"}, false},
		{"lease 1h", Text{HoldTTL: "1h"}, true},
		{"lease above", Text{HoldTTL: "3600001ms"}, false},
		{"lag 1h", Text{MaxLag: "1h"}, true},
		{"lag above", Text{MaxLag: "3600001ms"}, false},
		{"signal 24h", Text{SignalTTL: "24h"}, true},
		{"signal above", Text{SignalTTL: "86400001ms"}, false},
		{"below a millisecond", Text{MaxLag: "1500us"}, false},
		{"sync always", Text{Sync: "always"}, true},
		{"sync 1ms", Text{Sync: "1ms"}, true},
		{"sync too often", Text{Sync: "999us"}, false},
		{"sync 0", Text{Sync: "0"}, false},
		{"sync 1h", Text{Sync: "1h"}, true},
		{"sync too seldom", Text{Sync: "61m"}, false},
		{"keep 2", Text{SnapshotKeep: "2"}, true},
		{"keep 1", Text{SnapshotKeep: "1"}, false},
		{"keep 1000", Text{SnapshotKeep: "1000"}, true},
		{"keep 1001", Text{SnapshotKeep: "1001"}, false},
		{"free port", Text{HTTPAddr: "127.0.0.1:0", NatsAddr: "[::1]:0"}, true},
		{"localhost", Text{HTTPAddr: "localhost:80"}, true},
		{"port below 0", Text{NatsAddr: "127.0.0.1:-1"}, false},
		{"port too large", Text{HTTPAddr: "127.0.0.1:65536"}, false},
		{"all interfaces", Text{HTTPAddr: ":8480"}, false},
		{"all interfaces, token", Text{HTTPAddr: ":8480", APIToken: "t"}, true},
		{"all interfaces, file of tokens", Text{HTTPAddr: ":8480", TokensFile: "t.json"}, true},
		{"nats beyond loopback", Text{NatsAddr: "10.0.0.1:4222"}, false},
		{"nats beyond loopback, file of tokens", Text{NatsAddr: "10.0.0.1:4222", TokensFile: "t.json"}, false},
		{"a name", Text{HTTPAddr: "quota.example:80"}, false},
		{"url without driver", Text{StoreNatsURL: "nats://a:4222"}, false},
		{"driver without url", Text{StoreDriver: "nats"}, true},
		{"second url wrong", Text{StoreDriver: "nats", StoreNatsURL: "nats://a,http://b:4222"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := tt.text.Parse(Default())
			if (err == nil) != tt.ok {
				t.Errorf("error is %v, want ok %v", err, tt.ok)
			}
			if got := c.Validate(); err == nil && got != nil {
				t.Errorf("what Parse took, Validate does not: %v", got)
			}
		})
	}
}

func TestAlwaysReplacesADuration(t *testing.T) {
	c := Default()
	c.Sync = time.Second
	if got, err := (Text{Sync: "always"}).Parse(c); err != nil || got.Sync != 0 {
		t.Errorf("sync is %s, %v", got.Sync, err)
	}
}

func TestValidateSeesWhatWasSetInCode(t *testing.T) {
	c := Default()
	c.DataDir, c.SnapshotKeep = "", -1
	const want = `the configuration has 2 fault(s):
  QUOTA_DATA_DIR (--data-dir) is empty; name a directory
  QUOTA_SNAPSHOT_KEEP (--snapshot-keep) is not within 2..1000`
	if err := c.Validate(); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestAProgramWithoutALogIsToldWhereOneIs(t *testing.T) {
	c := Default()
	c.StoreDriver, c.LogElsewhere = NATS, true
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "QUOTA_STORE_NATS_URL") {
		t.Errorf("without a URL: %v", err)
	}
	c.StoreNATSURL = "nats://127.0.0.1:4222"
	if err := c.Validate(); err != nil {
		t.Errorf("with a URL: %v", err)
	}
}

func TestVariablesAreThoseThatAreDocumented(t *testing.T) {
	const want = "QUOTA_DATA_DIR QUOTA_STORE_DRIVER QUOTA_STORE_NATS_URL QUOTA_STORE_NATS_USER QUOTA_NATS_CA QUOTA_NATS_ADDR QUOTA_NATS_CONFIG QUOTA_NATS_CERT QUOTA_NATS_KEY QUOTA_SERVER_NAME QUOTA_CLUSTER_NAME QUOTA_CLUSTER_ADDR QUOTA_CLUSTER_ROUTES QUOTA_REPLICAS QUOTA_HTTP_ADDR QUOTA_HTTP_CERT QUOTA_HTTP_KEY QUOTA_HTTP_HOSTS QUOTA_SYNC " +
		"QUOTA_SATURATION_THRESHOLD QUOTA_SOFT_DEPRIORITIZE_FACTOR QUOTA_CONSUMPTION_RETENTION_DAYS QUOTA_SIGNAL_TTL QUOTA_HOLD_TTL QUOTA_MAX_LAG " +
		"QUOTA_SNAPSHOT_INTERVAL QUOTA_SNAPSHOT_KEEP QUOTA_API_TOKEN QUOTA_TOKENS_FILE QUOTA_LOG_LEVEL " +
		"QUOTA_GATEWAY_CONFIG QUOTA_GATEWAY_CONNECTIONS QUOTA_KEYS_FILE QUOTA_DECIDE_TIMEOUT QUOTA_MAX_WAIT QUOTA_FAIL_CLOSED"
	if got := strings.Join(Variables(), " "); got != want {
		t.Errorf("variables %s, want %s", got, want)
	}
}

// TestANodeOfACluster: what a node is told, and what is wrong with that.
func TestANodeOfACluster(t *testing.T) {
	node := Text{ClusterName: "quota", ServerName: "a", ClusterRoutes: "nats://b:6222, nats://c:6222"}
	got, err := node.Parse(Default())
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.ClusterName, want.ServerName, want.ClusterRoutes, want.Replicas = "quota", "a", []string{"nats://b:6222", "nats://c:6222"}, 3
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	tests := []struct {
		name string
		text func(t *Text)
		want string // "" = nothing is wrong
	}{
		{"copies", func(t *Text) { t.Replicas = "1" }, ""},
		{"more copies than there can be", func(t *Text) { t.Replicas = "6" }, `QUOTA_REPLICAS (--replicas) "6" is not within 1..5`},
		{"copies of one that is alone", func(t *Text) { *t = Text{Replicas: "3"} }, `QUOTA_REPLICAS (--replicas) "3" asks for nodes, but the embedded server is alone; set QUOTA_CLUSTER_NAME, or leave it out`},
		{"copies at somebody else's", func(t *Text) { *t = Text{Replicas: "3", StoreDriver: NATS, StoreNatsURL: "nats://a:4222"} }, ""},
		{"routes without a cluster", func(t *Text) { t.ClusterName = "" }, `QUOTA_CLUSTER_ROUTES (--cluster-routes) is set, but the server is in no cluster: give QUOTA_CLUSTER_NAME the same name on all nodes`},
		{"a cluster without routes", func(t *Text) { t.ClusterRoutes = "" }, `QUOTA_CLUSTER_ROUTES (--cluster-routes) is needed in a cluster: where this node finds the others, such as nats://b:6222,nats://c:6222`},
		{"a route without a port", func(t *Text) { t.ClusterRoutes = "nats://b" }, `QUOTA_CLUSTER_ROUTES (--cluster-routes) has "nats://b", which is no route; use nats://host:6222`},
		{"a route of another kind", func(t *Text) { t.ClusterRoutes = "http://b:6222" }, `QUOTA_CLUSTER_ROUTES (--cluster-routes) has "http://b:6222", which is no route; use nats://host:6222`},
		{"no name of its own", func(t *Text) { t.ServerName = "" }, `QUOTA_SERVER_NAME (--server-name) is needed in a cluster: a name for this node alone, which it keeps`},
		{"an odd name", func(t *Text) { t.ServerName = "a.b" }, `QUOTA_SERVER_NAME (--server-name) is "a.b"; use letters, digits, - and _`},
		{"a log of somebody else's", func(t *Text) { t.StoreDriver, t.StoreNatsURL = NATS, "nats://a:4222" }, `QUOTA_CLUSTER_NAME (--cluster-name) is of the embedded server, but the driver is nats; leave it out`},
		{"other machines", func(t *Text) { t.ClusterAddr = ":6222" }, `QUOTA_CLUSTER_ADDR (--cluster-addr) is ":6222", which other machines can reach; set QUOTA_NATS_CONFIG, or listen on 127.0.0.1`},
		{"other machines that have a password", func(t *Text) { t.ClusterAddr, t.NatsConfig = ":6222", "f" }, ""},
		{"clients elsewhere", func(t *Text) { t.NatsAddr = ":4222" }, `QUOTA_NATS_ADDR (--nats-addr) is ":4222", which other machines can reach; set QUOTA_NATS_CONFIG or QUOTA_API_TOKEN, or listen on 127.0.0.1`},
		{"clients elsewhere that have users", func(t *Text) { t.NatsAddr, t.NatsConfig = ":4222", "f" }, ""},
		{"a key alone", func(t *Text) { t.NatsKey = "k" }, `QUOTA_NATS_CERT (--nats-cert) is missing: QUOTA_NATS_KEY is set, name the file of its certificate too`},
		{"a certificate alone", func(t *Text) { t.HTTPCert = "c" }, `QUOTA_HTTP_KEY (--http-key) is missing: QUOTA_HTTP_CERT is set, name the file of its key too`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text, have := node, ""
			test.text(&text)
			if _, err := text.Parse(Default()); err != nil {
				have = strings.TrimSpace(strings.Join(strings.Split(err.Error(), "\n")[1:], "\n"))
			}
			if have != test.want {
				t.Errorf("it says\n%s\nwant\n%s", have, test.want)
			}
		})
	}
}

// TestThePageHasEveryVariable of the engine, as the help has it.
func TestThePageHasEveryVariable(t *testing.T) {
	page, err := os.ReadFile("../docs/DEPLOYMENT.md")
	if err != nil {
		t.Fatal(err)
	}
	for f := range reflect.TypeFor[Text]().Fields() {
		flag := f.Tag.Get("name")
		if flag == "" {
			flag = kebab(f.Name)
		}
		help := strings.TrimSuffix(f.Tag.Get("help"), ".")
		if row := "| `" + Variable(flag) + "` | `--" + flag + "` | " + help; !strings.Contains(strings.ToLower(string(page)), strings.ToLower(row)) {
			t.Errorf("the page has no %s", row)
		}
	}
}
