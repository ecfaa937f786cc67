package gateway

import (
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
)

// pair makes a pool of two accounts that take so many calls each at once, 0 = any number.
func (e *engine) pair(t *testing.T, most int64) {
	t.Helper()
	pool := &plans.Pool{
		ID: "team", Name: "Team", Provider: "kimi", Reserve: 100,
		Connections: []plans.Connection{{ConnectionID: "c", Weight: 100, MaxConcurrent: most}, {ConnectionID: "d", Weight: 100, MaxConcurrent: most}},
		Allocations: []plans.Allocation{{APIKeyID: "alice", Weight: 100 * quota.RatioOne}},
	}
	_, err := e.ChangePool(within(t), pool.ID, func(*plans.Pool) (*plans.Pool, error) { return pool, nil }, httpapi.Meta{})
	must(t, err)
}

// account is a connection that says where its calls went, and with what credential.
func account(t *testing.T, id string, saw func(id string, r *http.Request)) Connection {
	t.Helper()
	c := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		saw(id, r)
		_, _ = io.WriteString(w, `{"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	})
	c.ID, c.Credential = id, Secret("sk-"+id)
	return c
}

// TestAccountsOfAProviderTakeTurns: each with its own credential, and only they.
func TestAccountsOfAProviderTakeTurns(t *testing.T) {
	e := startEngine(t, 1_000_000)
	e.pair(t, 0)
	var went []string
	saw := func(id string, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer sk-"+id || r.Header.Get("X-Api-Key") != "" || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("%s was called at %s with %q", id, r.URL.Path, got)
		}
		went = append(went, id)
	}
	other := account(t, "other", saw)
	other.Provider = "openai"
	s := start(t, e.url, account(t, "c", saw), other, account(t, "d", saw))
	for range 4 {
		if status, body := s.send("POST", "/v1/chat/completions", `{"model":"m"}`); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		must(t, s.c.Flush(within(t)))
		now, err := e.State(within(t), 0, false)
		must(t, err)
		_, err = e.State(within(t), now.LastSeq, false)
		must(t, err)
	}
	if want := []string{"c", "d", "c", "d"}; !slices.Equal(went, want) {
		t.Errorf("went to %q, want %q", went, want)
	}
}

// TestACallMayWaitForRoom: it is passed on when the one before has ended.
func TestACallMayWaitForRoom(t *testing.T) {
	e := startEngine(t, 1_000_000)
	e.pair(t, 1)
	busy, on := make(chan struct{}, 2), make(chan struct{}, 2)
	c := account(t, "c", func(string, *http.Request) {
		busy <- struct{}{}
		<-on
	})
	t.Cleanup(func() { close(on) })
	s := rig{maxWait: 20 * time.Second}.start(t, e.url, c)
	hasty := start(t, e.url, c)
	ended := make(chan int, 2)
	call := func() {
		resp, err := s.http.Do(s.request("POST", "/v1/chat/completions", `{"model":"m"}`))
		if err != nil {
			t.Error(err)
			ended <- 0
			return
		}
		_ = resp.Body.Close()
		ended <- resp.StatusCode
	}
	go call()
	receive(t, busy)
	if status, _ := hasty.send("POST", "/v1/chat/completions", `{"model":"m"}`); status != 429 {
		t.Errorf("without waiting: %d", status)
	}
	go call()
	select {
	case <-busy:
		t.Fatal("two at once, of an account that takes one")
	case on <- struct{}{}:
	}
	receive(t, busy)
	on <- struct{}{}
	for range 2 {
		if status := receive(t, ended); status != 200 {
			t.Errorf("a call ended with %d", status)
		}
	}
}

// receive takes what should come at once.
func receive[T any](t *testing.T, from <-chan T) (x T) {
	t.Helper()
	select {
	case x = <-from:
	case <-within(t).Done():
		t.Fatal("nothing comes")
	}
	return x
}
