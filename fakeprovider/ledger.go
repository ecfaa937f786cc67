package fakeprovider

import (
	"net/http"

	"github.com/quotashare/quotashare/dialect"
)

// Charge is a line of the ledger.
type Charge struct {
	RequestID string // of the request's header, see Options.IDHeader
	Key       string // the credential it came with; of several the first
	API       dialect.API
	Model     string // as asked for
	Status    int    // that was sent; 0 while none was
	Prompt    int64  // tokens charged
	// Completion are the tokens charged for the answer, where it was cut an
	// estimate.
	Completion int64
	Total      int64
	Whole      bool  // the charge is the whole usage, no estimate
	Text       int64 // bytes of text in the parts that were sent
	Open       bool  // it is still being answered
}

// entry is a line and what it is worked out from.
type entry struct {
	Charge
	use      usage
	estimate int64 // of the prompt
	begun    bool  // a byte of the body was sent
	stated   state // the most that was
	failed   bool  // an error ended it
}

// state is what of its usage an answer has stated.
type state uint8

const (
	nothing state = iota
	prompt
	everything
)

// Charges returns the ledger, in the order in which the requests came.
func (p *Provider) Charges() []Charge {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Charge, len(p.entries))
	for i, e := range p.entries {
		all[i] = e.Charge
	}
	return all
}

// open begins a line; n is its number, from 1.
func (p *Provider) open(r *http.Request, api dialect.API) (e *entry, n uint64) {
	e = &entry{Charge: Charge{RequestID: r.Header.Get(p.opt.IDHeader), API: api, Open: true}}
	if all := credentials(r); len(all) > 0 {
		e.Key = all[0]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries = append(p.entries, e)
	return e, uint64(len(p.entries))
}

// begin notes what the request asks for.
func (p *Provider) begin(e *entry, c *call) {
	p.note(e, func() {
		e.Model, e.use, e.estimate = c.asked.Model, c.use, c.asked.PromptTokens
	})
}

func (p *Provider) close(e *entry) {
	p.note(e, func() { e.Open = false })
}

// note changes a line, and with it what is charged. A nil entry is a request
// that is in no ledger.
func (p *Provider) note(e *entry, change func()) {
	if e == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before := e.Total
	change()
	e.charge()
	p.spend(e.Total - before)
}

// charge is the rule. What is refused never begins, so the status is not asked.
func (e *entry) charge() {
	e.Prompt, e.Completion, e.Whole = 0, 0, false
	switch {
	case !e.API.Metered() || !e.begun:
	case e.stated == everything:
		e.Prompt, e.Completion, e.Whole = e.use.prompt, e.use.completion, true
	case e.failed && e.Text == 0 && e.stated == nothing:
	case e.stated == prompt:
		e.Prompt, e.Completion = e.use.prompt, (e.Text+3)/4
	default:
		e.Prompt, e.Completion = e.estimate, (e.Text+3)/4
	}
	e.Total = e.Prompt + e.Completion
}
