package assembly

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/internal/program"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, brokertest.LostChannel) }

// process is a running assembly.
type process struct {
	Listening
	log  *logged
	stop context.CancelFunc
	done chan error
}

// logged is a log that may be read while it is written.
type logged struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{} // there is a line more, since somebody looked
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// begin runs parts without waiting for anything.
func begin(t *testing.T, parts Parts, cfg config.Config) (*process, chan Listening) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	p := &process{log: &logged{more: make(chan struct{}, 1)}, stop: stop, done: make(chan error, 1)}
	started := make(chan Listening, 1)
	go func() {
		p.done <- Run(ctx, parts, cfg, program.Logger(p.log, slog.LevelInfo), func(l Listening) { started <- l })
	}()
	return p, started
}

// start runs parts and waits until they listen.
func start(t *testing.T, parts Parts, cfg config.Config) *process {
	t.Helper()
	p, started := begin(t, parts, cfg)
	select {
	case p.Listening = <-started:
	case err := <-p.done:
		t.Fatalf("%s ended: %v\n%s", parts.Name, err, p.log)
	}
	return p
}

// end stops it as a signal does.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.stop()
	if err := <-p.done; err != nil {
		t.Errorf("ended with %v\n%s", err, p.log)
	}
}

func onFreePorts(t *testing.T) config.Config {
	t.Helper()
	c := config.Default()
	c.DataDir, c.NATSAddr, c.HTTPAddr = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	return c
}

// ask sends one request and returns its status and body.
func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Close = true // so that no idle connection outlives the test
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// until asks until the answer has the text.
func until(t *testing.T, url, text string) {
	t.Helper()
	last := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if _, last = ask(t, "GET", url, ""); strings.Contains(last, text) {
			return
		}
	}
	t.Fatalf("%s never says %q; at last %s", url, text, last)
}

// One process owns the log, two follow it: what goes in at one door comes out
// at both others.
func TestIngestAndDecidersShareALog(t *testing.T) {
	front := start(t, Parts{Name: "ingest", OwnsLog: true}, onFreePorts(t))
	defer front.end(t)
	cfg := onFreePorts(t)
	cfg.StoreDriver, cfg.StoreNATSURL = config.NATS, front.NATS
	first := start(t, Parts{Name: "decider", Decides: true}, cfg)
	defer first.end(t)
	cfg.DataDir = t.TempDir()
	second := start(t, Parts{Name: "decider", Decides: true}, cfg)
	defer second.end(t)

	status, body := ask(t, "POST", front.HTTP+"/api/quota/events", `{"id":"1","apiKeyId":"alice","connectionId":"demo"}`)
	if status != 200 || !strings.Contains(body, `"seq":1`) {
		t.Fatalf("the event: %d %s", status, body)
	}
	for _, d := range []*process{first, second} {
		until(t, d.HTTP+"/readyz", "ok")
		if _, body := ask(t, "GET", d.HTTP+"/api/quota/state?minSeq=1", ""); !strings.Contains(body, `"folded":1,`) {
			t.Errorf("the state is %s", body)
		}
	}
}

func TestIngestTakesEventsAndNothingElse(t *testing.T) {
	front := start(t, Parts{Name: "ingest", OwnsLog: true}, onFreePorts(t))
	defer front.end(t)
	for path, want := range map[string]int{
		"/healthz": 200, "/readyz": 200, "/metrics": 200,
		"/api/quota/state": 404, "/api/quota/pools": 404, "/api/quota/decide": 404, "/": 404,
	} {
		if status, body := ask(t, "GET", front.HTTP+path, ""); status != want {
			t.Errorf("GET %s: %d, want %d: %s", path, status, want, body)
		}
	}
}

func TestADeciderAloneRefuses(t *testing.T) {
	for _, driver := range []string{config.NATS, config.Embedded} {
		cfg := onFreePorts(t)
		cfg.StoreDriver = driver
		p, _ := begin(t, Parts{Name: "decider", Decides: true}, cfg)
		var faults config.Faults
		if err := <-p.done; !errors.As(err, &faults) || !strings.Contains(err.Error(), "decider has no log of its own") {
			t.Errorf("driver %s: error is %v", driver, err)
		}
		p.stop()
	}
}

// A server that does not answer is waited for, and no log of our own begun.
// Meanwhile the door says so.
func TestAnExternalLogIsWaitedFor(t *testing.T) {
	cfg := onFreePorts(t)
	cfg.HTTPAddr = brokertest.FreeAddr(t)
	cfg.StoreDriver, cfg.StoreNATSURL = config.NATS, "nats://127.0.0.1:1"
	p, started := begin(t, Parts{Name: "quotashare", OwnsLog: true, Decides: true}, cfg)
	for !strings.Contains(p.log.String(), "the log does not answer; trying again") {
		select {
		case l := <-started:
			t.Fatalf("it began at %+v", l)
		case err := <-p.done:
			t.Fatalf("it ended: %v", err)
		case <-p.log.more:
		}
	}
	if status, body := ask(t, "GET", "http://"+cfg.HTTPAddr+"/healthz", ""); status != 200 || body != "ok\n" {
		t.Errorf("/healthz: %d %s", status, body)
	}
	for _, path := range []string{"/readyz", "/api/quota/state"} {
		if status, body := ask(t, "GET", "http://"+cfg.HTTPAddr+path, ""); status != 503 || !strings.Contains(body, `"code":"not-ready"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	p.end(t)
	if entries, err := os.ReadDir(cfg.DataDir); err != nil || len(entries) > 0 {
		t.Errorf("it began a log of its own: %v, %v", entries, err)
	}
}

// TestAnExternalLogGetsOurStreams, and what an earlier setting of ours gave them is
// changed; what somebody else did is not.
func TestAnExternalLogGetsOurStreams(t *testing.T) {
	other := start(t, Parts{Name: "ingest", OwnsLog: true}, onFreePorts(t))
	defer other.end(t)
	cfg := onFreePorts(t)
	cfg.StoreDriver, cfg.StoreNATSURL = config.NATS, other.NATS
	run := func(days int64, lines ...string) {
		t.Helper()
		cfg.ConsumptionRetentionDays = days
		p := start(t, Parts{Name: "quotashare", OwnsLog: true, Decides: true}, cfg)
		until(t, p.HTTP+"/readyz", "ok")
		p.end(t)
		for _, want := range append(lines, "stream=QUOTA_REJECTED", `setting="max age"`) {
			if !strings.Contains(p.log.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, p.log)
			}
		}
		if p.Own {
			t.Error("it claims somebody else's server")
		}
	}
	run(100, "INF a stream of an earlier version or setting is changed", "was=2160h0m0s", "is=3120h0m0s")
	nc, err := nats.Connect(other.NATS)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	rejected, err := js.Stream(t.Context(), "QUOTA_REJECTED")
	if err != nil {
		t.Fatal(err)
	}
	changed := rejected.CachedInfo().Config
	changed.MaxAge = time.Hour
	if _, err := js.UpdateStream(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	run(14, "WRN a stream has other settings than ours", "is=1h0m0s", "ours=2160h0m0s")
}

// A client that streams for ever must not hold up the end.
func TestAnOpenRequestDoesNotHoldUpTheEnd(t *testing.T) {
	p := start(t, Parts{Name: "quotashare", OwnsLog: true, Decides: true}, onFreePorts(t))
	until(t, p.HTTP+"/readyz", "ok")
	body, writer := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.HTTP+"/api/quota/events", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Close = true
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
		}
	}()
	fmt.Fprintln(writer, `{"apiKeyId":"alice","connectionId":"demo"}`)
	until(t, p.HTTP+"/api/quota/state", `"folded":1,`)
	began := time.Now()
	p.end(t)
	if took := time.Since(began); took > stopWithin {
		t.Errorf("it took %s", took)
	}
	writer.Close()
	<-answered
}

// One that does not even notice is cut off.
func TestAStuckRequestIsCutOff(t *testing.T) {
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered := make(chan struct{})
	s := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	})}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, s) }()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if res, err := http.Get("http://" + l.Addr().String()); err == nil {
			res.Body.Close()
		}
	}()
	<-entered
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	<-gone
}

// What the configuration takes, the log must take too, to the ends of each
// range: else a program would start and then fail.
func TestSettingsOfTheConfigurationAreLegalInTheLog(t *testing.T) {
	for _, text := range []config.Text{
		{SaturationThreshold: "0", SoftDeprioritizeFactor: "0", ConsumptionRetentionDays: "1", SignalTTL: "1ms", HoldTTL: "1ms", MaxLag: "1ms"},
		{SaturationThreshold: "1", SoftDeprioritizeFactor: "1", ConsumptionRetentionDays: "3650", SignalTTL: "24h", HoldTTL: "1h", MaxLag: "1h"},
	} {
		cfg, err := text.Parse(config.Default())
		if err != nil || len(cfg.Given) != 6 {
			t.Fatalf("%d settings, %v", len(cfg.Given), err)
		}
		if _, err := settingsOf(cfg.Given); err != nil {
			t.Error(err)
		}
	}
	if _, err := settingsOf([]config.Setting{{Name: "maxLagMs", Value: "0"}}); err == nil {
		t.Error("a lag of 0 is legal in the log")
	}
}

func TestAProcessEndsWithItsLog(t *testing.T) {
	failed := make(chan error, 1)
	failed <- io.ErrShortWrite
	if err := watch(t.Context(), failed); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error is %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := watch(ctx, failed); err != nil {
		t.Errorf("a clean end is the error %v", err)
	}
}

func TestTokensGuardWhatOthersCanReach(t *testing.T) {
	r := &run{cfg: config.Default()}
	r.cfg.APIToken = "secret"
	if got := r.natsToken(); got != "" {
		t.Errorf("on loopback clients need the token %q", got)
	}
	r.cfg.NATSAddr = "0.0.0.0:4222"
	if got := r.natsToken(); got != "secret" {
		t.Errorf("beyond loopback clients need the token %q", got)
	}
}

// A decider shows the dashboard, or how to build it; who only takes events has none.
func TestADeciderHasTheDashboard(t *testing.T) {
	p := start(t, Parts{Name: "quotashare", OwnsLog: true, Decides: true}, onFreePorts(t))
	defer p.end(t)
	until(t, p.HTTP+"/readyz", "ok")
	req, err := http.NewRequestWithContext(t.Context(), "GET", p.HTTP+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || !strings.HasPrefix(string(page), "<!doctype html>") {
		t.Errorf("%v: %.200s", err, page)
	}
	if status, body := ask(t, "GET", p.HTTP+"/", ""); status != 200 || !strings.HasPrefix(body, "quotashare:") {
		t.Errorf("who asks for no page: %d %.200s", status, body)
	}
}
