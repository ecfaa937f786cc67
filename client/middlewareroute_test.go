package client

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// accounts makes the calls go to either of two connections of one pool.
func (p *passing) accounts(most int64) {
	p.t.Helper()
	p.twoAccounts(most)
	p.mid.Call = func(*http.Request) Call {
		return Call{APIKeyID: "alice", ConnectionID: "c", Others: []string{"d"}, Provider: "kimi"}
	}
	p.mid.To = func(out *http.Request, id string) { out.Header.Set("X-Account", id) }
}

func TestCallsGoToTheConnectionThatWasChosen(t *testing.T) {
	var got []string
	p := startPassing(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("X-Account"))
		w.Header().Set("X-Codex-Primary-Used-Percent", "1")
		_, _ = io.WriteString(w, whole)
	})
	p.accounts(0)
	used, said := p.listen("quota.consumption"), p.listen("quota.saturation")
	for range 4 {
		read(t, p.call("/v1/chat/completions", hello))
		must(t, p.c.Flush(within(t)))
		for _, sub := range []string{"consumption", "saturation"} {
			s := used
			if sub == "saturation" {
				s = said
			}
			m, err := s.NextMsg(30 * time.Second)
			must(t, err)
			got = append(got, connectionIn(m.Data))
		}
	}
	want := []string{"c", "c", "c", "d", "d", "d", "c", "c", "c", "d", "d", "d"}
	if !slices.Equal(got, want) {
		t.Errorf("calls went, were used and were read at %q, want %q", got, want)
	}
	p.stopEngine()
	read(t, p.call("/v1/chat/completions", hello))
	if last := got[len(got)-1]; last != "c" {
		t.Errorf("without an engine the call went to %s", last)
	}
	p.mid.To = nil
	if _, err := p.mid.RoundTrip(&http.Request{}); err == nil {
		t.Error("a choice that nobody is told of")
	}
}

// A call that finds both accounts full waits, and goes where there is room.
func TestCallsWaitForRoom(t *testing.T) {
	busy := make(chan struct{}, 3)
	on := make(chan struct{})
	p := startPassing(t, func(w http.ResponseWriter, _ *http.Request) {
		busy <- struct{}{}
		<-on
		_, _ = io.WriteString(w, whole)
	})
	t.Cleanup(func() { close(on) })
	p.accounts(1)
	call := p.mid.Call
	p.mid.Call = func(r *http.Request) Call {
		c := call(r)
		c.MaxWait = 20 * time.Second
		return c
	}
	ended := make(chan int, 3)
	for range 3 {
		go func() {
			resp, err := p.http.Post(p.url+"/v1/embeddings", "application/json", strings.NewReader(`{"input":"1"}`))
			if err != nil {
				t.Error(err)
				ended <- 0
				return
			}
			_ = resp.Body.Close()
			ended <- resp.StatusCode
		}()
	}
	take(t, busy)
	take(t, busy)
	select {
	case <-busy:
		t.Fatal("three calls at once, of two accounts that take one each")
	case on <- struct{}{}:
	}
	take(t, busy)
	on <- struct{}{}
	on <- struct{}{}
	for range 3 {
		if status := take(t, ended); status != 200 {
			t.Errorf("a call ended with %d", status)
		}
	}
}
