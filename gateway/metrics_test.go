package gateway

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestProvidersMakeNoSeries: of all the statuses that one may answer with, those that
// have a name are counted by it.
func TestProvidersMakeNoSeries(t *testing.T) {
	for status, want := range map[int]string{
		0: "0", 200: "200", 299: "2xx", 399: "3xx", 429: "429", 498: "4xx", 499: "499", 511: "511", 529: "529", 530: "5xx", 599: "5xx", 600: "other", 999: "other",
	} {
		if got := codeOf(status); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
	}
	codes := map[string]bool{}
	for status := range 1000 {
		codes[codeOf(status)] = true
	}
	if len(codes) > 75 {
		t.Errorf("there are %d codes, 75 are the most", len(codes))
	}
}

// TestClientsMakeNoSeries: paths, methods, models and tokens of theirs are in none.
func TestClientsMakeNoSeries(t *testing.T) {
	provider := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.Header.Get("X-Status"))
		w.WriteHeader(status)
	})
	s := start(t, nowhere, provider)
	for i := range 300 {
		name := fmt.Sprint("Quitte", i)
		s.send("POST", "/"+name, "{}")
		s.send(name, "/v1/chat/completions", "{}")
		r := s.request("POST", "/v1/chat/completions?"+name, `{"model":"`+name+`"}`)
		r.Header.Set("X-Status", strconv.Itoa(200+2*i))
		r.Header.Set(name, name)
		_ = text(t, s.do(r))
		r = s.request("GET", "/v1/models/"+name, "")
		r.Header.Set("Authorization", "Bearer "+name)
		_ = text(t, s.do(r))
	}
	must(t, s.g.wait(within(t)))
	_, page := s.send("GET", "/metrics", "")
	if strings.Contains(page, "Quitte") {
		t.Error("what a client sent is on the page")
	}
	if n := strings.Count(page, "\nquotashare_"); n > 250 {
		t.Errorf("there are %d series, 250 are the most", n)
	}
}

// TestEveryCounterOfTheClientHasAHelp: a text that says what it counts.
func TestEveryCounterOfTheClientHasAHelp(t *testing.T) {
	s := start(t, nowhere, upstream(t, func(http.ResponseWriter, *http.Request) {}))
	stats := s.c.Stats()
	stats.Each(func(name string, _ uint64) {
		if help := helps[name]; !strings.HasPrefix(name, "failures_") && !strings.HasSuffix(help, ".") {
			t.Errorf("%s has the help %q", name, help)
		}
	})
	registry := prometheus.NewRegistry()
	must(t, registry.Register(statsOf{s.c}))
	families, err := registry.Gather()
	must(t, err)
	for _, f := range families {
		gauge := map[string]bool{"waiting": true, "waiting_bytes": true, "on_disk": true, "on_disk_bytes": true}[strings.TrimPrefix(f.GetName(), namespace)]
		if isCounter := strings.HasSuffix(f.GetName(), "_total"); isCounter == gauge {
			t.Errorf("%s: what falls is no counter, and what only grows is one", f.GetName())
		}
	}
}
