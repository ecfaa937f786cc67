package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/wire"
)

type decideCmd struct {
	APIKey     string         `arg:"" name:"key" help:"The API key."`
	Connection string         `short:"c" xor:"where" help:"The connection it wants to use; this or --pool is needed."`
	Pool       string         `short:"p" xor:"where" help:"Or the pool, when the connection is not chosen yet."`
	Model      string         `help:"The model it wants to use."`
	Requests   string         `placeholder:"N" help:"Estimate: requests; 1 with --reserve."`
	Tokens     string         `placeholder:"N" help:"Estimate: tokens."`
	USD        string         `name:"usd" placeholder:"N" help:"Estimate: dollars."`
	Percent    string         `placeholder:"N" help:"Estimate: points of the provider's 100."`
	Reserve    bool           `help:"Hold the estimate until the request is settled or released."`
	RequestID  string         `placeholder:"ID" help:"Name the request, to settle or release it by."`
	Lease      *time.Duration `placeholder:"TIME" help:"With --reserve: how long the hold lasts at most, such as 90s, from 1ms to 1h; the setting holdTtlMs."`
	At         string         `placeholder:"TIME" help:"Ask for that time, RFC 3339 or epoch milliseconds."`
	MinSeq     uint64         `placeholder:"SEQ" help:"Answer from a state that includes this event."`
	MaxWait    *time.Duration `placeholder:"TIME" help:"How long to wait for that, and then for the verdict on a hold; 100ms."`
	Preview    bool           `help:"Ask without a trace: nothing is held, counted or logged."`
	Explain    bool           `help:"Show every dimension, what is in flight on the connection and who waits in its pool; implies --json."`
	JSON       bool           `name:"json" help:"Print the answer as it came."`
	server     `embed:"" group:"Configuration"`
}

// Validate refuses, for kong, what would be without effect.
func (d *decideCmd) Validate() error {
	if d.Lease != nil && !d.Reserve {
		return errors.New("--lease is for a hold, and without --reserve nothing is held: add --reserve or leave --lease out")
	}
	return nil
}

func (d *decideCmd) run(ctx context.Context, p program.Process) error {
	if d.Connection == "" && d.Pool == "" {
		return errors.New("--connection or --pool is needed: it says what the key wants to use")
	}
	c, err := d.client()
	if err != nil {
		return err
	}
	answer, err := d.ask(ctx, c)
	if err != nil {
		return err
	}
	if d.JSON || d.Explain {
		return show(p.Stdout, answer)
	}
	return d.say(p.Stdout, answer)
}

func (d *decideCmd) ask(ctx context.Context, c *client) ([]byte, error) {
	if d.MaxWait != nil {
		c.http.Timeout += 2 * max(*d.MaxWait, 0) // for minSeq, and for the verdict
	}
	if !d.Preview {
		return c.do(ctx, "POST", "/api/quota/decide", "application/json", document(d.fields(), func(*wire.Writer) {}))
	}
	q := url.Values{}
	for _, f := range d.fields() {
		q.Set(f.name, f.value)
	}
	return c.get(ctx, "/api/quota/preview", q)
}

// given is a field of the question that the command line has. The name of one
// inside of the estimate begins with estimated.
type given struct{ name, value string }

const estimated = "estimate."

// fields are what was asked. Whether it makes sense, the engine says.
func (d *decideCmd) fields() (list []given) {
	all := []given{
		{"apiKeyId", d.APIKey},
		{"connectionId", d.Connection},
		{"pool", d.Pool},
		{"model", d.Model},
		{estimated + "requests", d.Requests},
		{estimated + "tokens", d.Tokens},
		{estimated + "usd", d.USD},
		{estimated + "percent", d.Percent},
		{"requestId", d.RequestID},
		{"leaseMs", milliseconds(d.Lease)},
		{"at", d.At},
		{"maxWaitMs", milliseconds(d.MaxWait)},
		{"reserve", isTrue(d.Reserve)},
		{"explain", isTrue(d.Explain)},
	}
	if d.MinSeq > 0 {
		all = append(all, given{"minSeq", strconv.FormatUint(d.MinSeq, 10)})
	}
	for _, f := range all {
		if f.value != "" {
			list = append(list, f)
		}
	}
	return list
}

func milliseconds(d *time.Duration) string {
	if d == nil {
		return ""
	}
	return strconv.FormatInt(d.Milliseconds(), 10)
}

func isTrue(flag bool) string {
	if flag {
		return "true"
	}
	return ""
}

// document is a question with these fields, and what more writes. A number may be
// sent as text.
func document(fields []given, more func(*wire.Writer)) []byte {
	w := wire.NewWriter(nil, wire.JSON)
	w.Object()
	more(&w)
	var estimate []given
	for _, f := range fields {
		switch unit, inside := strings.CutPrefix(f.name, estimated); {
		case inside:
			estimate = append(estimate, given{unit, f.value})
		case f.name == "reserve" || f.name == "explain":
			w.Name(f.name)
			w.Bool(true)
		default:
			w.Name(f.name)
			w.String(f.value)
		}
	}
	w.Name("estimate")
	w.Object()
	for _, f := range estimate {
		w.Name(f.name)
		w.String(f.value)
	}
	w.End()
	w.End()
	return w.Bytes()
}

// reply is what people are told of an answer.
type reply struct {
	Decision     string   `json:"decision"`
	Reason       string   `json:"reason"`
	Detail       string   `json:"detail"`
	Deprioritize bool     `json:"deprioritize"`
	Message      string   `json:"message"`
	RetryAfterMs *int64   `json:"retryAfterMs"`
	RetryAt      string   `json:"retryAt"`
	Alternatives []string `json:"alternatives"`
	WouldBlock   bool     `json:"wouldBlock"`
	RequestID    string   `json:"requestId"`
	Degraded     []string `json:"degraded"`
	AsOf         struct {
		Seq uint64 `json:"seq"`
	} `json:"asOf"`
}

func (d *decideCmd) say(w io.Writer, answer []byte) error {
	var r reply
	if err := json.Unmarshal(answer, &r); err != nil {
		return fmt.Errorf("the engine's answer cannot be read: %w", err)
	}
	r.say(w)
	if d.Reserve && !d.Preview && r.Decision == "allow" {
		fmt.Fprintf(w, "  give it up with: quotashare release %s %s\n", configfile.Show(d.APIKey), configfile.Show(r.RequestID))
	}
	return nil
}

// answered is an answer in a few words; of a block by the rule guarantee it says
// what the reason leaves open.
func answered(decision, reason, detail string) string {
	if decision != "block" {
		detail = ""
	}
	return fmt.Sprintf("%s (%s%s)", decision, reason, after(", ", detail))
}

func (r *reply) say(w io.Writer) {
	fmt.Fprintf(w, "%s, as of event %d\n", answered(r.Decision, r.Reason, r.Detail), r.AsOf.Seq)
	switch r.Reason {
	case "no-pool":
		fmt.Fprintln(w, "  no pool has this connection, so nothing limits it")
	case "no-allocation":
		fmt.Fprintln(w, "  the pool has no allocation for this key; it may use what is left")
	}
	if r.Message != "" {
		fmt.Fprintf(w, "  %s\n", r.Message)
	}
	if r.RetryAfterMs != nil && r.Message == "" { // else that says when
		fmt.Fprintf(w, "  free again in %s, at %s\n", time.Duration(*r.RetryAfterMs)*time.Millisecond, r.RetryAt)
	}
	if r.Deprioritize {
		fmt.Fprintln(w, "  behind others: the key is above its share")
	}
	if r.WouldBlock {
		fmt.Fprintln(w, "  the pool only observes: it would have been a block")
	}
	for _, a := range r.Alternatives {
		fmt.Fprintf(w, "  would be allowed on %s\n", a)
	}
	for _, d := range r.Degraded {
		fmt.Fprintf(w, "  degraded: %s\n", d)
	}
}

type stateCmd struct {
	MinSeq uint64 `placeholder:"SEQ" help:"Wait until this event is folded."`
	Digest bool   `help:"Compute the digest of the whole state."`
	server `embed:"" group:"Configuration"`
}

func (s *stateCmd) run(ctx context.Context, p program.Process) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	answer, err := c.state(ctx, s.MinSeq, s.Digest)
	if err != nil {
		return err
	}
	return show(p.Stdout, answer)
}

// state asks how far the fold is, once it has reached minSeq.
func (c *client) state(ctx context.Context, minSeq uint64, digest bool) ([]byte, error) {
	q := url.Values{}
	if minSeq > 0 {
		q.Set("minSeq", strconv.FormatUint(minSeq, 10))
	}
	if digest {
		q.Set("digest", "true")
	}
	return c.get(ctx, "/api/quota/state", q)
}

type rejectedCmd struct {
	Limit  int  `default:"50" help:"How many at most."`
	Offset int  `help:"How many to leave out, from the oldest."`
	JSON   bool `name:"json" help:"Print the answer as it came."`
	server `embed:"" group:"Configuration"`
}

func (r *rejectedCmd) run(ctx context.Context, p program.Process) error {
	c, err := r.client()
	if err != nil {
		return err
	}
	q := url.Values{"limit": {strconv.Itoa(r.Limit)}, "offset": {strconv.Itoa(r.Offset)}}
	answer, err := c.get(ctx, "/api/quota/rejected", q)
	if err != nil {
		return err
	}
	if r.JSON {
		return show(p.Stdout, answer)
	}
	return sayRejected(p.Stdout, answer)
}

func sayRejected(w io.Writer, answer []byte) error {
	var doc struct {
		Rejected []struct {
			Seq     uint64 `json:"seq"`
			Index   int    `json:"index"`
			Subject string `json:"subject"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
			Time    string `json:"time"`
		} `json:"rejected"`
		Total int `json:"total"`
	}
	if err := json.Unmarshal(answer, &doc); err != nil {
		return fmt.Errorf("the engine's answer cannot be read: %w", err)
	}
	for _, r := range doc.Rejected {
		fmt.Fprintf(w, "%d.%d  %s  %s  %s: %s\n", r.Seq, r.Index, r.Time, r.Subject, r.Reason, r.Message)
	}
	fmt.Fprintf(w, "%d of %d rejected events\n", len(doc.Rejected), doc.Total)
	return nil
}

// show prints an answer with a line end.
func show(w io.Writer, answer []byte) error {
	if n := len(answer); n == 0 || answer[n-1] != '\n' {
		answer = append(answer, '\n')
	}
	_, err := w.Write(answer)
	return err
}
