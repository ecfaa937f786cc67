package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quotashare/quotashare/internal/brokertest"
)

// callers send events of their own over HTTP until they are told to stop, each again
// until it is answered for, and know how.
type callers struct {
	t    *testing.T
	url  atomic.Pointer[string]
	stop chan struct{}
	all  sync.WaitGroup

	accepted, spooled atomic.Int64 // events
}

func startCallers(t *testing.T, n int, url string) *callers {
	c := &callers{t: t, stop: make(chan struct{})}
	c.url.Store(&url)
	for i := range n {
		c.all.Go(func() { c.send(i) })
	}
	return c
}

func (c *callers) send(caller int) {
	for k := 0; ; k++ {
		select {
		case <-c.stop:
			return
		default:
		}
		var list []string
		for n := range k%5 + 1 {
			list = append(list, fmt.Sprintf(
				`{"id":"%d-%d-%d","time":"2026-09-21T14:00:00.000Z","apiKeyId":"k%d","connectionId":"c","cost":{"tokens":1}}`, caller, k, n, caller))
		}
		for !c.post("["+strings.Join(list, ",")+"]", len(list)) {
			continue // killed or not there yet
		}
	}
}

// post reports whether all events were taken.
func (c *callers) post(body string, n int) bool {
	req, err := http.NewRequest("POST", *c.url.Load()+"/api/quota/events", strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return true
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	var said struct {
		Accepted int
		Results  []struct{ Spooled bool }
	}
	if err != nil || json.Unmarshal(text, &said) != nil || said.Accepted != n {
		return false
	}
	for _, r := range said.Results {
		if r.Spooled {
			c.spooled.Add(1)
		}
	}
	c.accepted.Add(int64(n))
	return true
}

// await returns when a counter has grown by n.
func (c *callers) await(what *atomic.Int64, n int64) {
	c.t.Helper()
	want := what.Load() + n
	for ctx := deadline(c.t); what.Load() < want; {
		if ctx.Err() != nil {
			c.t.Fatalf("%d of %d", what.Load(), want)
		}
	}
}

// end stops the callers; all of what they sent was answered for.
func (c *callers) end() int64 {
	close(c.stop)
	c.all.Wait()
	return c.accepted.Load()
}

// The log is killed, and comes back; and whoever takes events for it is killed meanwhile,
// and begins again without it. Each event that was answered for counts once.
func TestEventsOutlastTheLog(t *testing.T) {
	logDir, frontDir := t.TempDir(), t.TempDir()
	addr := brokertest.FreeAddr(t)
	log := start(t, "ingest", "--data-dir", logDir, "--nats-addr", addr, "--http-addr", "127.0.0.1:0")
	front := func() *process {
		return startWith(t, []string{"QUOTA_STORE_DRIVER=nats", "QUOTA_STORE_NATS_URL=" + log.nats},
			"ingest", "--data-dir", frontDir, "--http-addr", "127.0.0.1:0")
	}
	first := front()
	c := startCallers(t, 8, first.http)
	c.await(&c.accepted, 200)

	log.kill()
	c.await(&c.spooled, 200)
	first.kill()
	second := front() // without the log
	c.url.Store(&second.http)
	c.await(&c.spooled, 200)
	second.mustSay("events wait for the log from before")

	log = start(t, "ingest", "--data-dir", logDir, "--nats-addr", addr, "--http-addr", "127.0.0.1:0")
	second.stderr.await(deadline(t), t, "the log has all that was kept for it")
	c.await(&c.accepted, 200)
	sent := c.end()

	d := startWith(t, []string{"QUOTA_STORE_DRIVER=nats", "QUOTA_STORE_NATS_URL=" + log.nats},
		"decider", "--data-dir", t.TempDir(), "--http-addr", "127.0.0.1:0")
	d.awaitReady()
	var state struct {
		Counts struct{ Folded, Rejected, Duplicates int64 }
	}
	decode(t, d.mustCall("GET", "/api/quota/state", ""), &state)
	s := state.Counts
	if s.Folded != sent || s.Rejected != 0 {
		t.Errorf("%d events were answered for, %d folded, %d rejected, %d came twice", sent, s.Folded, s.Rejected, s.Duplicates)
	}
	t.Logf("%d events, %d of them spooled, %d came twice", sent, c.spooled.Load(), s.Duplicates)
}

// mustSay fails unless a process has logged that.
func (p *process) mustSay(text string) {
	p.t.Helper()
	p.stderr.await(deadline(p.t), p.t, text)
}
