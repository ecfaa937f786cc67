package fakeprovider

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quotashare/quotashare/dialect"
)

// maxBody is the largest request in bytes; OpenAI and Anthropic take about as
// much.
const maxBody = 32 << 20

// Options say what a provider is like. The zero value is one that lets
// everybody in and answers everything.
type Options struct {
	Seed        uint64   // of texts, lengths and ids
	Credentials []string // that are let in; none: every one
	Models      []string // of the list of models; none: two of each provider
	IDHeader    string   // of a request, for Charge.RequestID; "" is X-Request-Id
	Limits      Limits   // told in headers; zero: none are
	// Behave says how a request is answered. Its body can be read. nil: as
	// usual.
	Behave func(*http.Request) Behaviour
	Now    func() time.Time // nil is time.Now
}

// Provider is an http.Handler that answers as providers do.
type Provider struct {
	opt Options

	mu      sync.Mutex
	entries []*entry
	meters  [4]meter // of opt.Limits
}

// New returns a provider.
func New(o Options) *Provider {
	if o.IDHeader == "" {
		o.IDHeader = "X-Request-Id"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if len(o.Models) == 0 {
		o.Models = []string{"claude-opus-4-5", "claude-sonnet-4-5", "gpt-5.4", "text-embedding-3-small"}
	}
	return &Provider{opt: o, meters: o.Limits.meters()}
}

// ServeHTTP answers a request.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	api, ok := dialect.Of(r.Method, r.URL.Path)
	if !ok {
		f := fault{404, "Not found: " + r.Method + " " + r.URL.Path + " is no call of this provider."}
		p.refuse(w, &call{anthropic: ofAnthropic(r, api)}, nil, f)
		return
	}
	e, n := p.open(r, api)
	defer p.close(e)
	c := &call{
		api: api, anthropic: ofAnthropic(r, api), n: mix(p.opt.Seed) + n,
		rng: rand.New(rand.NewPCG(p.opt.Seed, n)), created: p.opt.Now().Unix(),
	}
	if f := p.read(r, c, e); f.status != 0 {
		p.refuse(w, c, e, f)
		return
	}
	p.answer(w, r, c, e)
}

// ofAnthropic reports whether the caller expects Anthropic's dialect; of the
// list of models its version header tells.
func ofAnthropic(r *http.Request, api dialect.API) bool {
	return api == dialect.Messages || api == dialect.CountTokens || r.Header.Get("Anthropic-Version") != ""
}

// read lets the request in and reads what it asks for.
func (p *Provider) read(r *http.Request, c *call, e *entry) fault {
	if !p.known(credentials(r)) {
		return fault{401, "The credential is not one of this provider: send its own in " + c.credentialHeader() + " and no other."}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return fault{400, "The body ended early: " + err.Error()}
	case len(body) > maxBody:
		return fault{413, "The body is larger than 32 MiB."}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if f := c.parse(body); f.status != 0 {
		return f
	}
	how, err := p.behave(r)
	if err != nil {
		return fault{400, err.Error()}
	}
	c.behave(how)
	p.begin(e, c)
	if c.api == dialect.Models {
		return c.listModels(r.URL.Path, p.opt.Models)
	}
	return p.limit(c)
}

// behave asks the request's own header first.
func (p *Provider) behave(r *http.Request) (Behaviour, error) {
	if text := r.Header.Get(BehaviourHeader); text != "" {
		return ParseBehaviour(text)
	}
	if p.opt.Behave == nil {
		return Behaviour{}, nil
	}
	return p.opt.Behave(r), nil
}

// credentials returns every credential that the request carries.
func credentials(r *http.Request) []string {
	all := slices.Clone(r.Header.Values("X-Api-Key"))
	for _, v := range r.Header.Values("Authorization") {
		scheme, token, _ := strings.Cut(v, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			token = v
		}
		all = append(all, token)
	}
	return all
}

// known lets nobody in who carries a credential of somebody else's beside ours.
func (p *Provider) known(all []string) bool {
	if len(p.opt.Credentials) == 0 {
		return true
	}
	foreign := func(c string) bool { return !slices.Contains(p.opt.Credentials, c) }
	return len(all) > 0 && !slices.ContainsFunc(all, foreign)
}
