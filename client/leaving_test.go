package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestACallerGoneBeforeTheAnswerHoldsNothing(t *testing.T) {
	p := startPassing(t, func(http.ResponseWriter, *http.Request) {})
	ctx, leave := context.WithCancel(within(t))
	begun := make(chan struct{})
	p.mid.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
		close(begun)
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	go func() {
		<-begun
		leave()
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/embeddings", strings.NewReader(`{"input":"12345678"}`))
	must(t, err)
	if _, err := p.mid.RoundTrip(req); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	p.expect(0, 0)
	p.ended(0, 0, 1)
}

// However soon callers leave, nothing is held when all have left.
func TestCallersWhoLeaveAtOnceHoldNothing(t *testing.T) {
	p := startPassing(t, func(http.ResponseWriter, *http.Request) {})
	p.mid.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	for i := range 400 {
		ctx, leave := context.WithTimeout(t.Context(), time.Duration(i)*2*time.Microsecond)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/embeddings", strings.NewReader(`{"input":"1"}`))
		must(t, err)
		if _, err := p.mid.RoundTrip(req); err == nil {
			t.Error("an answer for nobody")
		}
		leave()
	}
	after := decide(t, p.c, about("after", 1)) // its hold is written after all of theirs
	must(t, p.c.Release(after.Hold))
	p.expect(0, 0)
}

func TestAPanicOfBaseReleases(t *testing.T) {
	p := startPassing(t, func(http.ResponseWriter, *http.Request) {})
	p.mid.Base = roundTripper(func(*http.Request) (*http.Response, error) { panic(http.ErrAbortHandler) })
	req, err := http.NewRequestWithContext(within(t), http.MethodPost, p.url+"/v1/embeddings", strings.NewReader(`{"input":"1"}`))
	must(t, err)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		_, _ = p.mid.RoundTrip(req)
	}()
	p.expect(0, 0)
	p.ended(0, 0, 1)
}

// A fault of whoever set it up is not the caller's.
func TestWhatTheCallerCannotHelp(t *testing.T) {
	p := startPassing(t, func(http.ResponseWriter, *http.Request) { t.Error("the provider was called") })
	p.mid.Call = func(*http.Request) Call { return Call{ConnectionID: "c"} }
	if resp := p.call("/v1/chat/completions", hello); resp.StatusCode != 500 || resp.Status != "500 Internal Server Error" || strings.Contains(read(t, resp), "apiKeyId") {
		t.Errorf("answered with %s", resp.Status)
	}
	p.said.await(t, "apiKeyId is missing")
	for _, m := range []*Middleware{{Client: p.c}, {Call: p.mid.Call}} {
		if _, err := m.RoundTrip(httptest.NewRequest(http.MethodPost, "/v1/embeddings", nil)); err == nil {
			t.Error("half a middleware works")
		}
	}
}

// A caller may leave before the decider has written the hold. What is published about
// it must not be of no use for being too early.
func TestAHoldThatComesLaterHoldsNothing(t *testing.T) {
	p := startPassing(t, func(http.ResponseWriter, *http.Request) {})
	for _, named := range []bool{false, true} {
		q := about("", 700)
		if named {
			q.RequestID = "by-its-caller"
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		d, err := p.c.Decide(gone, q)
		must(t, err)
		must(t, p.c.Release(d.Hold))
		p.folded(p.c)
		q.RequestID = d.Hold.RequestID // as the decider has it, which was asked and is slow
		decide(t, p.c, q)
		want := int64(0)
		if named {
			want = 700 // it was asked for again
		}
		p.expect(0, want)
	}
}
