package e2e

import (
	"bufio"
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/keyfile"
)

// page is a page of figures: what each of ours looks like in the document, such as
// "quotashare_data_bytes{part} gauge", by name, and how many lines have a value.
type page struct {
	t       *testing.T
	text    string
	figures map[string]string
	series  int
}

var (
	typeLine  = regexp.MustCompile(`(?m)^# TYPE (quotashare_\w+) (\w+)$`)
	helpLine  = regexp.MustCompile(`(?m)^# HELP (quotashare_\w+) \S.*\.$`)
	valueLine = regexp.MustCompile(`(?m)^(quotashare_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$`)
	labelName = regexp.MustCompile(`(\w+)="(?:[^"\\]|\\.)*"`)
)

// metrics reads the figures of a process.
func (p *process) metrics(token ...string) *page {
	p.t.Helper()
	r, err := http.NewRequestWithContext(deadline(p.t), "GET", p.http+"/metrics", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, one := range token {
		r.Header.Set("Authorization", "Bearer "+one)
	}
	status, text := do(p.t, r)
	if status != 200 {
		p.t.Fatalf("%s/metrics: %d %s", p.http, status, text)
	}
	return readPage(p.t, text)
}

// do makes a request, and returns the status and the body.
func do(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func readPage(t *testing.T, text string) *page {
	t.Helper()
	g := &page{t, text, map[string]string{}, 0}
	labels := map[string]map[string]bool{}
	for _, m := range valueLine.FindAllStringSubmatch(text, -1) {
		g.series++
		if labels[m[1]] == nil {
			labels[m[1]] = map[string]bool{}
		}
		for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
			labels[m[1]][l[1]] = l[1] != "le"
		}
	}
	for _, m := range typeLine.FindAllStringSubmatch(text, -1) {
		g.figures[m[1]] = shape(m[1], slices.Collect(maps.Keys(labels[m[1]])), m[2])
	}
	for _, m := range helpLine.FindAllStringSubmatch(text, -1) {
		delete(labels, m[1])
	}
	for name := range labels {
		if g.figures[name] != "" {
			t.Errorf("%s has no help that is a sentence", name)
		}
	}
	return g
}

// shape is a figure with its labels in order, and its type.
func shape(name string, labels []string, kind string) string {
	labels = slices.DeleteFunc(labels, func(l string) bool { return l == "" || l == "le" })
	slices.Sort(labels)
	if len(labels) > 0 {
		name += "{" + strings.Join(labels, ",") + "}"
	}
	return name + " " + kind
}

// row is a line of docs/METRICS.md: name, labels, type, where.
var row = regexp.MustCompile("(?m)^\\| `(quotashare_\\w+)(?:\\{([a-z,]*)\\})?` \\| (\\w+) \\| ([UIDG ]+) \\| \\S.* \\|.*\\|$")

// documented are the figures of the document by program, U, I, D or G, and name.
func documented(t *testing.T) map[string]map[string]string {
	t.Helper()
	doc, err := os.ReadFile("../docs/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]string{"U": {}, "I": {}, "D": {}, "G": {}}
	rows := row.FindAllStringSubmatch(string(doc), -1)
	for _, m := range rows {
		for _, where := range strings.Fields(m[4]) {
			all[where][m[1]] = shape(m[1], strings.Split(m[2], ","), m[3])
		}
	}
	if n := strings.Count(string(doc), "\n| `quotashare_"); n != len(rows) {
		t.Errorf("docs/METRICS.md has %d rows, and %d can be read", n, len(rows))
	}
	return all
}

// seldom are figures that a process has only when something has happened which takes
// hours, or has a file that others here do not have.
func seldom(name string) bool {
	return name == "quotashare_retention_purged_seq" || strings.HasPrefix(name, "quotashare_http_token")
}

func (g *page) mustBeAs(where string, want map[string]string) {
	g.t.Helper()
	want = maps.Clone(want)
	for name := range want {
		if g.figures[name] == "" && seldom(name) {
			delete(want, name)
		}
	}
	if d := cmp.Diff(want, g.figures); d != "" {
		g.t.Errorf("%s: - docs/METRICS.md, + /metrics\n%s", where, d)
	}
	problems, err := promlint.New(strings.NewReader(g.text)).Lint()
	if err != nil {
		g.t.Error(err)
	}
	for _, p := range problems {
		g.t.Errorf("%s: %s: %s", where, p.Metric, p.Text)
	}
}

// busy gives a decider something of everything, and returns its page while somebody
// waits.
func (o operator) busy() *page {
	o.t.Helper()
	o.narrow("narrow", 1, "c")
	o.consume(object{"type": "quota.saturation", "connectionId": "c", "readings": []object{{"window": "5h", "usedPercent": 40, "resetAt": 1e13}}})
	o.mustCall("POST", apiPath("snapshots"), "")
	o.watchOnce()
	o.route(toRoute("alice", "narrow", "1"))
	came := make(chan routed, 1)
	go func() { came <- o.route(toRoute("bob", "narrow", "2")) }()
	g := o.metrics()
	for g.figures["quotashare_backlog_waiting"] == "" {
		g = o.metrics()
	}
	o.release("alice", "1")
	<-came
	return g
}

// watchOnce watches until something happens.
func (o operator) watchOnce() {
	o.t.Helper()
	ctx, leave := context.WithCancel(deadline(o.t))
	defer leave()
	r, err := http.NewRequestWithContext(ctx, "GET", o.http+apiPath("stream"), nil)
	if err != nil {
		o.t.Fatal(err)
	}
	answer, err := client.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "event: ") {
			return
		}
	}
	o.t.Error("nothing happens")
}

// Every figure of every program is in docs/METRICS.md, with its labels and its type, and
// every one that is there a program has; Prometheus's own rules of names hold.
func TestEveryFigureIsDocumented(t *testing.T) {
	want, dir := documented(t), t.TempDir()
	newOperator(t).busy().mustBeAs("up", want["U"])
	addr := brokertest.FreeAddr(t)
	front := start(t, "ingest", "--data-dir", dir+"/front", "--nats-addr", addr, "--http-addr", "127.0.0.1:0", "--sync", "100ms")
	log := []string{"--store-driver", "nats", "--store-nats-url", "nats://" + addr, "--http-addr", "127.0.0.1:0"}
	decider := start(t, "decider", append(log, "--data-dir", dir+"/decider")...)
	decider.awaitReady()
	operator{decider}.busy().mustBeAs("decider", want["D"])

	run(t, "quotashare", "tokens", "add", "--tokens-file", dir+"/tokens", "--name", "prometheus", "--role", "read")
	token := strings.Fields(run(t, "quotashare", "tokens", "add", "--tokens-file", dir+"/tokens", "--name", "other", "--role", "read"))[0]
	other := start(t, "ingest", append(log, "--data-dir", dir+"/other", "--tokens-file", dir+"/tokens")...)
	other.metrics(token) // which the next one counts
	figures := other.metrics(token)
	maps.Copy(figures.figures, front.metrics().figures) // one has a server, the other a spool and tokens
	figures.mustBeAs("ingest", want["I"])

	if _, err := keyfile.Issue(filepath.Join(dir, "keys.json"), "alice", time.Now()); err != nil {
		t.Fatal(err)
	}
	gateway := launch(t, nil, "gateway", "--store-nats-url", "nats://"+addr, "--http-addr", "127.0.0.1:0", "--data-dir", dir,
		"--gateway-connections", text(t, []object{{"id": "c", "provider": "openai", "url": "http://127.0.0.1:1", "credential": "none-needed"}}))
	gateway.awaitListening(&gateway.http)
	call(t, "POST", gateway.http+"/v1/chat/completions", "application/json", "{}")
	gateway.metrics().mustBeAs("gateway", want["G"])
}
