package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/fakeprovider"
	"github.com/quotashare/quotashare/internal/brokertest"
)

// onward is a gateway that has to serve whatever becomes of the log.
type onward struct {
	t        *testing.T
	args     []string
	vars     []string
	token    string
	provider *fakeprovider.Provider
	http     *http.Client
	p        *process
}

func newOnward(t *testing.T, nats string) *onward {
	t.Helper()
	provider := fakeprovider.New(fakeprovider.Options{Credentials: []string{ownCredential}})
	upstream := httptest.NewServer(provider)
	t.Cleanup(upstream.Close)
	o := &onward{t: t, provider: provider, http: http.DefaultClient}
	o.equip(upstream.URL, nats)
	o.begin()
	return o
}

// equip gives the gateway a token, a directory, and an account.
func (o *onward) equip(upstream, nats string) {
	o.t.Helper()
	dir := o.t.TempDir()
	o.token = strings.TrimSpace(run(o.t, "quotashare", "keys", "issue", "--id", "alice", "--data-dir", dir))
	o.vars = []string{"PROVIDER_KEY=" + ownCredential, `QUOTA_GATEWAY_CONNECTIONS=[{"id":"c","provider":"custom","url":"` + upstream + `/v1","credential":"${PROVIDER_KEY}"}]`}
	o.args = []string{"--store-nats-url", nats, "--http-addr", "127.0.0.1:0", "--data-dir", dir}
}

func (o *onward) begin() {
	o.t.Helper()
	o.p = launch(o.t, o.vars, "gateway", o.args...)
	o.p.awaitListening(&o.p.http)
}

// calls makes some, each of which has to be answered.
func (o *onward) calls(n int) {
	o.t.Helper()
	for range n {
		req, err := http.NewRequestWithContext(deadline(o.t), "POST", o.p.http+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"And of two?"}]}`))
		if err != nil {
			o.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+o.token)
		req.Close = true
		answer, err := o.http.Do(req)
		if err != nil {
			o.t.Fatalf("%v\n%s", err, o.p.stderr)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != 200 {
			o.t.Fatalf("%d %s %v\n%s", answer.StatusCode, body, err, o.p.stderr)
		}
	}
}

// await waits until a figure of the gateway's is so high.
func (o *onward) await(name string, atLeast int) {
	o.t.Helper()
	figure := regexp.MustCompile(`(?m)^quotashare_gateway_` + name + ` (\d+)$`)
	for ctx := deadline(o.t); ; {
		_, text := call(o.t, "GET", o.p.http+"/metrics", "", "")
		m := figure.FindStringSubmatch(text)
		if m == nil {
			o.t.Fatalf("there is no %s:\n%s", name, text)
		}
		if n, err := strconv.Atoi(m[1]); err == nil && n >= atLeast {
			return
		}
		if ctx.Err() != nil {
			o.t.Fatalf("%s is %s, want %d", name, m[1], atLeast)
		}
	}
}

// The log is killed, and the gateway goes on; it is killed too, and begins again without
// the log, twice. What its calls have used is counted when the log is back, once.
func TestUsageOutlastsTheLogAndTheGateway(t *testing.T) {
	dir, addr := t.TempDir(), brokertest.FreeAddr(t)
	startLog := func() *process {
		return start(t, "ingest", "--data-dir", dir, "--nats-addr", addr, "--http-addr", "127.0.0.1:0", "--sync", "100ms")
	}
	log := startLog()
	d := start(t, "decider", "--data-dir", t.TempDir(), "--store-nats-url", log.nats, "--http-addr", "127.0.0.1:0")
	d.awaitReady()
	operator{d}.plan("c", "tokens/monthly 1000000000000", "requests/monthly 1000000000")
	operator{d}.poolOf("c", []string{"c"}, "alice 100")
	g := newOnward(t, log.nats)
	g.calls(5)
	g.await("stored_total", 5)

	log.kill()
	g.calls(20)
	g.await("spooled_total", 20)
	g.p.kill()
	for i := range 2 {
		g.begin()
		g.await("on_disk", 20+10*i)
		g.calls(10)
		g.await("spooled_total", 10)
		g.p.kill()
	}
	log = startLog()
	g.begin()
	g.p.mustSay("the log has all that was kept for it")
	g.calls(5)
	g.p.stop() // when everything is in the log

	d.at(lastSeq(t, log.nats))
	var want total
	for _, c := range g.provider.Charges() {
		want.requests, want.tokens = want.requests+1, want.tokens+c.Total
	}
	if got := (total{requests: countedOf(d, "requests"), tokens: countedOf(d, "tokens")}); got != want || want.requests != 50 {
		t.Errorf("the engine counts %+v, the provider charges for %+v", got, want)
	}
	if s := d.at(0); s.Counts.Rejected != 0 {
		t.Errorf("events are rejected: %+v", s.Counts)
	}
}

// countedOf is what alice used of the connection c, in one unit.
func countedOf(p *process, unit string) int64 {
	p.t.Helper()
	for _, dim := range (operator{p}).usage("c").Dimensions {
		if dim.Unit == unit {
			n, err := dim.key(p.t, "alice").Consumed.Int64()
			if err != nil {
				p.t.Fatal(err)
			}
			return n
		}
	}
	p.t.Fatal(fmt.Sprint("nothing is counted in ", unit))
	return 0
}

// A second gateway on the same data directory is told what to do.
func TestTwoGatewaysHaveTheirOwnDirectories(t *testing.T) {
	g := newOnward(t, "nats://127.0.0.1:1")
	second := launch(t, g.vars, "gateway", g.args...)
	<-second.exited
	for _, want := range []string{filepath.Base(g.args[len(g.args)-1]), "another program keeps its events there", "hint: another gateway has that directory", "QUOTA_DATA_DIR", "QUOTA_KEYS_FILE"} {
		if !strings.Contains(second.stderr.String(), want) {
			t.Errorf("it does not say %s:\n%s", want, second.stderr)
		}
	}
}
