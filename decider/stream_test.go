package decider

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// watcher reads the stream of an engine over HTTP.
type watcher struct {
	r     *running
	lines *bufio.Scanner
	id    string // of the last event
	stop  func()
}

// watch opens a stream that goes on after the event of that id, "" = from now.
func (r *running) watch(query, id string) *watcher {
	r.t.Helper()
	h, err := httpapi.New(httpapi.Config{
		Engine: r.Engine, Registry: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(r.t.Output(), nil)),
	})
	r.must(err)
	srv := httptest.NewServer(h)
	ctx, cancel := context.WithCancel(r.within())
	req, err := http.NewRequestWithContext(ctx, "GET", srv.URL+"/api/quota/stream"+query, nil)
	r.must(err)
	if id != "" {
		req.Header.Set("Last-Event-ID", id)
	}
	resp, err := srv.Client().Do(req)
	r.must(err)
	if resp.StatusCode != 200 {
		r.t.Fatalf("the stream is answered %s", resp.Status)
	}
	w := &watcher{r: r, lines: bufio.NewScanner(resp.Body), id: id}
	w.stop = func() {
		cancel()
		resp.Body.Close()
		came(r.t, returned(srv.Close), "the end of the stream's server")
	}
	r.t.Cleanup(w.stop)
	return w
}

// next returns the name and the data of the next event.
func (w *watcher) next() (name, data string) {
	w.r.t.Helper()
	for w.lines.Scan() {
		field, value, _ := strings.Cut(w.lines.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "id":
			w.id = value
		case "data":
			data = value
		case "":
			if name != "" {
				return name, data
			}
		}
	}
	w.r.t.Fatalf("the stream ended: %v", w.lines.Err())
	return "", ""
}

// until reads on until an event has the text, and returns it.
func (w *watcher) until(name, text string) string {
	w.r.t.Helper()
	for {
		if n, data := w.next(); n == name && strings.Contains(data, text) {
			return data
		}
	}
}

// TestAChangeIsSeenEverywhere: one that was written through one decider is on the
// streams of all, and so is what was used; a block is on that of who answered.
func TestAChangeIsSeenEverywhere(t *testing.T) {
	nc := startLog(t, t.TempDir())
	a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", nil)
	w := b.watch("", "")
	_, err := a.PutPlan(a.within(), "c", []plans.Dimension{{Unit: quota.Requests, Window: quota.Daily, Limit: quota.Amount(quota.Requests.Scale())}}, httpapi.Meta{})
	a.must(err)
	p, err := a.putPool(a.within(), team("p", "c"), httpapi.Meta{Actor: "ops", Reason: "a start"})
	a.must(err)
	got := w.until("config", `"id":"p"`)
	if !strings.HasPrefix(got, fmt.Sprintf(`{"seq":%d,`, p.Revision)) || !strings.Contains(got, `"kind":"pool","id":"p","change":"put","actor":"ops","reason":"a start","document":{"id":"p",`) {
		t.Errorf("the other one shows %s", got)
	}
	// Of the next minute, so that it counts whole over midnight too.
	seq := a.publish("quota.consumption", fmt.Sprintf(`{"apiKeyId":"alice","connectionId":"c","time":%d,"cost":{"requests":2}}`, a.now()+60_000))
	w.until("usage", `"consumedTotal":2,`)
	_, err = b.State(b.within(), seq, false)
	b.must(err)
	if b.ask(aboutAlice).Allow || a.ask(questions.Question{APIKeyID: "bob", ConnectionID: "c"}).Allow {
		t.Fatal("a used up pool does not block")
	}
	if got := w.until("decision", ""); !strings.Contains(got, `"apiKeyId":"alice","connectionId":"c","poolId":"p","reason":"global-saturated"`) {
		t.Errorf("the block is shown as %s", got)
	}
}

// TestAStreamGoesOnOverARestart: nothing is lost of what was changed meanwhile
// and nothing is told twice, whoever the reader comes back to.
func TestAStreamGoesOnOverARestart(t *testing.T) {
	nc := startLog(t, t.TempDir())
	a, b := start(t, nc, t.TempDir()+"/a", nil), start(t, nc, t.TempDir()+"/b", nil)
	var want, got []string
	change := func(r *running) {
		p, err := r.putPool(r.within(), team(fmt.Sprint(len(want)), fmt.Sprint(len(want))), httpapi.Meta{})
		r.must(err)
		want = append(want, fmt.Sprint(p.Revision))
	}
	_, err := a.putPool(a.within(), team("before", "before"), httpapi.Meta{})
	a.must(err)
	read := func(w *watcher) {
		for len(got) < len(want) {
			name, data := w.next()
			if name != "config" {
				t.Errorf("an event %s %s", name, data)
			}
			seq, _, _ := strings.Cut(strings.TrimPrefix(data, `{"seq":`), ",")
			got = append(got, seq)
		}
	}
	w := a.watch("?events=config", "")
	change(a)
	change(b)
	read(w)
	change(b)
	w.stop()
	a.stop()
	for range 30 { // more than one page
		change(b)
	}
	want = append(want, fmt.Sprint(b.write("quota.config.pool.x", `{"id":"x"}`, events.HeaderConfig, "put")))
	a = start(t, nc, a.dir, nil)
	w = a.watch("?events=config", w.id)
	read(w)
	change(b)
	change(a)
	read(w)
	w.stop()
	change(b)
	w = b.watch("?events=config", w.id)
	change(b)
	read(w)
	if !slices.Equal(got, want) {
		t.Errorf("told of %v, want %v", got, want)
	}
}

// TestAStreamGoesOnOverALostState: it is shown that there is none, and then what
// it comes to.
func TestAStreamGoesOnOverALostState(t *testing.T) {
	nc := startLog(t, t.TempDir())
	r := start(t, nc, t.TempDir()+"/state", nil)
	w := r.watch("?events=config,state", "")
	w.until("state", `"ready":true`)
	r.stop()
	w.until("state", `{"ready":false,"error":{"message":"the engine is starting: try again"`)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	defer func() {
		w.stop()
		cancel()
		r.must(await(t, done, "the end of the engine"))
	}()
	r.must(r.AwaitReady(r.within()))
	_, err := r.putPool(r.within(), team("p", "c"), httpapi.Meta{})
	r.must(err)
	w.until("config", `"id":"p"`)
	w.until("state", `"ready":true`)
}
