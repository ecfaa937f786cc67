package client

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/quotashare/quotashare/dialect"
	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/saturation"
)

// passage is a call between its decision and its end, of which there is one, whoever
// sees it first.
type passage struct {
	c      *Client
	call   Call
	prompt int64 // tokens, as the request was estimated
	hold   Hold
	every  time.Duration // the lease is renewed

	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

// take begins a passage, and keeps its lease up.
func (m *Middleware) take(call Call, prompt int64, hold Hold) *passage {
	f := &passage{c: m.Client, call: call, prompt: prompt, hold: hold, every: m.lease() / 3}
	f.c.calls.begun.Add(1)
	f.mu.Lock() // the timer may be sooner than its name is kept
	defer f.mu.Unlock()
	f.timer = time.AfterFunc(f.every, f.renew)
	return f
}

// renew begins the lease anew, and waits for the next time.
func (f *passage) renew() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return
	}
	f.c.calls.renewed.Add(1)
	f.c.tell("the lease of a call could not be renewed", f.c.Renew(f.hold))
	f.timer.Reset(f.every)
}

// end reports whether the caller is the one who ends the passage.
func (f *passage) end() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return false
	}
	f.over = true
	f.timer.Stop()
	return true
}

// release ends a call that used nothing.
func (f *passage) release() {
	if f.end() {
		f.c.calls.released.Add(1)
		f.c.tell("a hold could not be released, and stands until its lease is over", f.c.Release(f.hold))
	}
}

// settle ends a call with what its response said.
func (f *passage) settle(r *dialect.Report) {
	tokens, estimated := r.Charge(f.prompt)
	if !r.Whole && tokens == 0 {
		f.release()
		return
	}
	if !f.end() {
		return
	}
	f.c.calls.settled.Add(1)
	if estimated {
		f.c.calls.estimated.Add(1)
	}
	used := f.hold.Consumption(Amounts{Requests: 1, Tokens: tokens})
	used.Provider, used.Estimated = f.call.Provider, estimated
	err := f.c.Publish(used)
	f.c.tell("what a call used could not be published", err)
	var refused *events.Rejection
	if errors.As(err, &refused) { // it will be no better, and the hold would stand
		f.c.tell("a hold could not be released, and stands until its lease is over", f.c.Release(f.hold))
	}
}

// follow reads the response while it passes. One that is no success used nothing.
func (f *passage) follow(resp *http.Response, asked bool) {
	if resp.StatusCode/100 != 2 {
		f.release()
		return
	}
	uncompress(resp)
	resp.Body = newBody(resp.Body, dialect.NewMeter(f.call.API, resp.StatusCode), f, asked)
	if asked { // what is taken out changes the length
		resp.ContentLength = -1
		resp.Header.Del("Content-Length")
	}
}

// observe publishes what the provider says about its limits.
func (c *Client) observe(call *Call, resp *http.Response) {
	var said http.Header
	for name, values := range resp.Header {
		if saturation.Tells(name) && fits(values) {
			if said == nil {
				said = http.Header{}
			}
			said[name] = values
		}
	}
	if said == nil {
		return
	}
	c.tell("what a provider said about its limits could not be published", c.Publish(Saturation{
		ConnectionID: call.ConnectionID, Provider: call.Provider, Status: resp.StatusCode, Header: said,
	}))
}

// fits reports whether an event takes the values of a header. One that it does not take
// must not cost the others.
func fits(values []string) bool { return len(strings.Join(values, ", ")) <= events.MaxHeaderValue }

// tell logs what could not be published; Stats counts it.
func (c *Client) tell(what string, err error) {
	if err != nil {
		c.said.warn(what, what, err)
	}
}
