package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

type decideCmd struct {
	APIKey     string `arg:"" name:"key" help:"The API key."`
	Connection string `short:"c" xor:"where" help:"The connection it wants to use; this or --pool is needed."`
	Pool       string `short:"p" xor:"where" help:"Or the pool, when the connection is not chosen yet."`
	Model      string `help:"The model it wants to use."`
	Requests   string `placeholder:"N" help:"Estimate: requests."`
	Tokens     string `placeholder:"N" help:"Estimate: tokens."`
	USD        string `name:"usd" placeholder:"N" help:"Estimate: dollars."`
	Percent    string `placeholder:"N" help:"Estimate: points of the provider's 100."`
	At         string `placeholder:"TIME" help:"Ask for that time, RFC 3339 or epoch milliseconds."`
	MinSeq     uint64 `placeholder:"SEQ" help:"Answer from a state that includes this event."`
	Explain    bool   `help:"Show every dimension; implies --json."`
	JSON       bool   `name:"json" help:"Print the answer as it came."`
	server     `embed:"" group:"Configuration"`
}

func (d *decideCmd) run(ctx context.Context, p program.Process) error {
	if d.Connection == "" && d.Pool == "" {
		return errors.New("--connection or --pool is needed: it says what the key wants to use")
	}
	c, err := d.client()
	if err != nil {
		return err
	}
	answer, err := c.do(ctx, "POST", "/api/quota/decide", "application/json", d.question())
	if err != nil {
		return err
	}
	if d.JSON || d.Explain {
		return show(p.Stdout, answer)
	}
	return sayDecision(p.Stdout, answer)
}

// question writes what was asked. Whether it makes sense, the engine says.
func (d *decideCmd) question() []byte {
	w := wire.NewWriter(nil, wire.JSON)
	w.Object()
	for _, f := range []struct{ name, value string }{
		{"apiKeyId", d.APIKey}, {"connectionId", d.Connection}, {"pool", d.Pool}, {"model", d.Model}, {"at", d.At},
	} {
		if f.value != "" {
			w.Name(f.name)
			w.String(f.value)
		}
	}
	w.Name("estimate")
	w.Object()
	for u, value := range [quota.NumUnits]string{
		quota.Requests: d.Requests, quota.Tokens: d.Tokens, quota.USD: d.USD, quota.Percent: d.Percent,
	} {
		if value != "" {
			w.Name(quota.Unit(u).String())
			w.String(value)
		}
	}
	w.End()
	if d.MinSeq > 0 {
		w.Name("minSeq")
		w.Uint(d.MinSeq)
	}
	if d.Explain {
		w.Name("explain")
		w.Bool(true)
	}
	w.End()
	return w.Bytes()
}

// reply is what people are told of an answer.
type reply struct {
	Decision     string   `json:"decision"`
	Reason       string   `json:"reason"`
	Deprioritize bool     `json:"deprioritize"`
	Message      string   `json:"message"`
	RetryAfterMs *int64   `json:"retryAfterMs"`
	RetryAt      string   `json:"retryAt"`
	Alternatives []string `json:"alternatives"`
	WouldBlock   bool     `json:"wouldBlock"`
	Degraded     []string `json:"degraded"`
	AsOf         struct {
		Seq uint64 `json:"seq"`
	} `json:"asOf"`
}

func sayDecision(w io.Writer, answer []byte) error {
	var r reply
	if err := json.Unmarshal(answer, &r); err != nil {
		return fmt.Errorf("the engine's answer cannot be read: %w", err)
	}
	fmt.Fprintf(w, "%s (%s), as of event %d\n", r.Decision, r.Reason, r.AsOf.Seq)
	switch r.Reason {
	case "no-pool":
		fmt.Fprintln(w, "  no pool has this connection, so nothing limits it")
	case "no-allocation":
		fmt.Fprintln(w, "  the pool has no allocation for this key; it may use what is left")
	}
	if r.Message != "" {
		fmt.Fprintf(w, "  %s\n", r.Message)
	}
	if r.RetryAfterMs != nil {
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
	return nil
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
