package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/quotashare/quotashare/dialect"
	"github.com/quotashare/quotashare/questions"
)

// Middleware is an http.RoundTripper for the calls that a gateway makes to its
// providers. It asks before each call of an API that uses tokens, and publishes after
// it what the call used and what the provider said about its limits:
//
//	proxy := &httputil.ReverseProxy{
//		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
//		Transport: &client.Middleware{Client: c, Call: func(r *http.Request) client.Call {
//			return client.Call{APIKeyID: keyOf(r), ConnectionID: "kimi-1", Provider: "kimi"}
//		}},
//		FlushInterval: -1,
//	}
//
// # Before
//
// The request is held: one request, and the tokens that it may use at most. A block
// is answered here, in the words of the API that was called (dialect.Refusal), and
// the provider is not called. What passes but should give way to others has the
// header HeaderDeprioritize, and DecisionOf tells Base and whoever gets the response
// all of the decision.
//
// # After
//
// The body passes as it comes, and is read on its way. At its end what it states is
// published: the hold is settled. A body that was cut, by whomever, is charged what is
// known of it, marked as an estimate. When nothing came, or the provider refused, the
// hold is released and nothing is charged. The lease of the hold is renewed while
// the call lasts. So a response has to be read to its end or closed, as always.
//
// A chat stream is asked to state its usage, which its client does not see when it did
// not ask for it itself. Responses are asked for without compression.
//
// A response that is to be made in the background is refused: nobody would see what it
// uses. Calls of other APIs pass as they are, and leave no trace.
type Middleware struct {
	Client *Client
	Base   http.RoundTripper // nil = http.DefaultTransport

	// Call says what the request does not: whose it is and where it goes. It is called
	// once for each request, maybe by many at once.
	Call func(*http.Request) Call

	// To, when set, points a request that may go to the connection that was chosen: at its
	// URL, with its credential. It is needed with Call.Others.
	To func(out *http.Request, connectionID string)

	Lease   time.Duration // of holds, 1 s to 1 h; 0 = DefaultLease. Renewed at a third of it
	MaxBody int64         // bytes of a request; 0 = DefaultMaxBody

	memory memory
}

// Call is what the middleware must be told of a request.
type Call struct {
	APIKeyID     string
	ConnectionID string
	Provider     string
	// Others are connections of the same provider that would do as well. With them the
	// engine chooses, as Client.Route, and Middleware.To is told. ConnectionID is the
	// first candidate, and the one without an engine.
	Others []string
	// MaxWait is how long the call may wait for room when all of them have as many calls
	// as they take; 0 = not at all.
	MaxWait time.Duration
	API     dialect.API // 0 = what method and path of the request say
	// MaxOutput bounds the tokens that are held for the answer, which of some clients is
	// always the model's maximum; 0 = as many as the request allows it. It is also what
	// is held for a request that does not say how long its answer may be, for which 0 is
	// DefaultOutput.
	MaxOutput int64
}

// Defaults of Middleware.
const (
	DefaultLease   = 5 * time.Minute
	DefaultOutput  = 4096     // tokens: longer than nearly all answers
	DefaultMaxBody = 32 << 20 // what Anthropic takes (platform.claude.com/docs/en/api/errors)
)

// Headers that the middleware sets.
const (
	HeaderDecision     = "Quota-Decision-Id"  // of the response
	HeaderDeprioritize = "Quota-Deprioritize" // "true", of the request to the provider and of the response
	HeaderDegraded     = "Quota-Degraded"     // of the response: what is wrong with the decision, as Decision.Degraded
)

// inBackground refuses a response whose usage nobody would see: it is asked for later, by
// another call.
const inBackground = `"background": true is not passed on: what the response uses could not be counted. Leave it out, and use "stream": true for long ones.`

// decisionKey is the decision's place in a context.
type decisionKey struct{}

// DecisionOf returns the decision on the request whose context it is. Base is called
// with such a context, and a response's Request has one.
func DecisionOf(ctx context.Context) (Decision, bool) {
	d, ok := ctx.Value(decisionKey{}).(Decision)
	return d, ok
}

// RoundTrip implements http.RoundTripper. Its errors are those of Base, and of reading
// the request.
func (m *Middleware) RoundTrip(req *http.Request) (*http.Response, error) {
	if m.Client == nil || m.Call == nil {
		return nil, errors.New("client.Middleware: Client and Call must be set")
	}
	call := m.Call(req)
	if len(call.Others) > 0 && m.To == nil {
		return nil, errors.New("client.Middleware: To must be set where Call names Others")
	}
	if call.API == 0 {
		call.API, _ = dialect.Of(req.Method, req.URL.Path)
	}
	if !call.API.Metered() {
		return m.base().RoundTrip(req)
	}
	out, err := m.outgoing(req, call.API)
	if err != nil {
		return m.misread(req, call.API, err)
	}
	defer out.drop()
	if out.facts.Background {
		return answer(req, dialect.Refusal{Status: http.StatusBadRequest, Message: inBackground}, call.API, nil), nil
	}
	d, err := m.decide(req.Context(), &call, m.question(&call, &out.facts))
	switch {
	case err != nil:
		return m.unanswerable(req, &call, err), nil
	case !d.Allow && req.Context().Err() != nil: // nobody is there to be told
		return nil, req.Context().Err()
	case !d.Allow:
		return answer(req, refusal(&d), call.API, &d), nil
	}
	return m.pass(req, out, &call, &d)
}

// pass makes a call that is allowed. Whatever goes wrong before there is a response,
// Base's panic too, releases its hold.
func (m *Middleware) pass(req *http.Request, out *outgoing, call *Call, d *Decision) (resp *http.Response, err error) {
	call.ConnectionID = d.Hold.ConnectionID
	f := m.take(*call, out.facts.PromptTokens, d.Hold)
	defer func() {
		if resp == nil {
			f.release()
		}
	}()
	if err := req.Context().Err(); err != nil { // gone while it waited for the answer
		return nil, err
	}
	sent := out.request(req, d)
	if m.To != nil {
		m.To(sent, call.ConnectionID)
	}
	if resp, err = m.base().RoundTrip(sent); err != nil {
		return nil, err
	}
	m.Client.observe(call, resp)
	mark(resp.Header, d)
	f.follow(resp, out.asked)
	return resp, nil
}

func (m *Middleware) base() http.RoundTripper {
	if m.Base == nil {
		return http.DefaultTransport
	}
	return m.Base
}

func (m *Middleware) lease() time.Duration {
	if m.Lease == 0 {
		return DefaultLease
	}
	return m.Lease
}

// decide asks whether the call may be made, and where when there is a choice or room to
// wait for.
func (m *Middleware) decide(ctx context.Context, call *Call, q Question) (Decision, error) {
	if len(call.Others) == 0 && call.MaxWait == 0 {
		return m.Client.Decide(ctx, q)
	}
	r := RouteQuestion{
		APIKeyID: q.APIKeyID, Model: q.Model, Estimate: q.Estimate, Lease: q.Lease, MaxWait: call.MaxWait,
		Candidates: []questions.Candidate{{ConnectionID: q.ConnectionID}},
	}
	for _, id := range call.Others {
		r.Candidates = append(r.Candidates, questions.Candidate{ConnectionID: id})
	}
	return m.Client.Route(ctx, r)
}

// question asks for what the request may use at most.
func (m *Middleware) question(call *Call, facts *dialect.Request) Question {
	held := *facts
	switch {
	case call.API == dialect.Embeddings: // has no answer to pay for
	case held.MaxOutput == 0:
		held.MaxOutput = cmp.Or(call.MaxOutput, DefaultOutput)
	case call.MaxOutput > 0:
		held.MaxOutput = min(held.MaxOutput, call.MaxOutput)
	}
	return Question{
		APIKeyID: call.APIKeyID, ConnectionID: call.ConnectionID, Model: facts.Model,
		Estimate: Amounts{Requests: 1, Tokens: held.Estimate()}, Reserve: true, Lease: m.lease(),
	}
}

// mark tells the caller of the decision.
func mark(h http.Header, d *Decision) {
	h.Del(HeaderDecision)
	h.Del(HeaderDeprioritize)
	h.Del(HeaderDegraded)
	if len(d.Degraded) > 0 {
		h.Set(HeaderDegraded, strings.Join(d.Degraded, ", "))
	}
	if d.DecisionID != "" {
		h.Set(HeaderDecision, d.DecisionID)
	}
	if d.Deprioritize {
		h.Set(HeaderDeprioritize, "true")
	}
}
