package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/wire"
)

type routeCmd struct {
	APIKey      string         `arg:"" name:"key" help:"The API key."`
	Pool        string         `short:"p" xor:"where" help:"The pool to choose a connection of; this, --route or --connection is needed."`
	Route       string         `xor:"where" placeholder:"NAME" help:"Or the name of a pool's route to a model, qtSd/pool/provider/model."`
	Connections []string       `name:"connection" short:"c" sep:"none" xor:"where" placeholder:"ID" help:"Or a connection to choose from; once for each."`
	Model       string         `help:"The model it wants to use."`
	Requests    string         `placeholder:"N" help:"Estimate: requests; 1 unless it is said."`
	Tokens      string         `placeholder:"N" help:"Estimate: tokens."`
	USD         string         `name:"usd" placeholder:"N" help:"Estimate: dollars."`
	Percent     string         `placeholder:"N" help:"Estimate: points of the provider's 100."`
	RequestID   string         `placeholder:"ID" help:"Name the request, to settle or release it by."`
	Lease       *time.Duration `placeholder:"TIME" help:"How long the hold lasts at most, such as 90s, from 1ms to 1h; the setting holdTtlMs."`
	MinSeq      uint64         `placeholder:"SEQ" help:"Answer from a state that includes this event."`
	MaxWait     *time.Duration `placeholder:"TIME" help:"How long to wait for room; 100ms."`
	Preview     bool           `help:"Choose without a trace: nothing is held, counted or logged."`
	Explain     bool           `help:"Show every dimension, what is in flight on the connection and who waits in its pool; implies --json."`
	JSON        bool           `name:"json" help:"Print the answer as it came."`
	server      `embed:"" group:"Configuration"`
}

func (r *routeCmd) run(ctx context.Context, p program.Process) error {
	if r.Pool == "" && r.Route == "" && len(r.Connections) == 0 {
		return errors.New("--pool, --route or --connection is needed: it says what to choose from")
	}
	c, err := r.client()
	if err != nil {
		return err
	}
	answer, err := r.ask(ctx, c)
	if err != nil {
		return err
	}
	if r.JSON || r.Explain {
		return show(p.Stdout, answer)
	}
	return r.say(p.Stdout, answer)
}

func (r *routeCmd) ask(ctx context.Context, c *client) ([]byte, error) {
	if r.MaxWait != nil {
		c.http.Timeout += 2 * max(*r.MaxWait, 0) // for minSeq, and for room
	}
	if !r.Preview {
		return c.do(ctx, "POST", "/api/quota/route", "application/json", document(r.fields(), r.candidates))
	}
	q := url.Values{}
	for _, f := range r.fields() {
		q.Set(f.name, f.value)
	}
	for _, id := range r.Connections {
		q.Add("candidates", id)
	}
	if r.Pool != "" {
		q.Set("reserve", "true") // else it would be the preview of decide
	}
	return c.get(ctx, "/api/quota/preview", q)
}

// fields are those that decide has too, and the name of the route.
func (r *routeCmd) fields() []given {
	d := decideCmd{
		APIKey: r.APIKey, Pool: r.Pool, Model: r.Model, Requests: r.Requests, Tokens: r.Tokens, USD: r.USD, Percent: r.Percent,
		RequestID: r.RequestID, Lease: r.Lease, MinSeq: r.MinSeq, MaxWait: r.MaxWait, Explain: r.Explain,
	}
	list := d.fields()
	if r.Route != "" {
		list = append(list, given{"route", r.Route})
	}
	return list
}

// candidates writes those to choose from, if there are any.
func (r *routeCmd) candidates(w *wire.Writer) {
	if len(r.Connections) == 0 {
		return
	}
	w.Name("candidates")
	w.Array()
	for _, id := range r.Connections {
		w.Object()
		w.Name("connectionId")
		w.String(id)
		w.End()
	}
	w.End()
}

// routed is what people are told of a choice beside its decision.
type routed struct {
	reply
	ConnectionID string
	Candidates   []struct {
		ConnectionID, Gate string
		InFlight           int64
		MaxConcurrent      int64
	}
}

func (r *routeCmd) say(w io.Writer, answer []byte) error {
	var a routed
	if err := readFields(answer, &a); err != nil {
		return err
	}
	if a.ConnectionID != "" {
		fmt.Fprintf(w, "%s\n", configfile.Show(a.ConnectionID))
	}
	a.Alternatives = nil // the candidates say it
	a.reply.say(w)
	for i, c := range a.Candidates {
		fmt.Fprintf(w, "  %d. %s, %d in flight", i+1, configfile.Show(c.ConnectionID), c.InFlight)
		if c.MaxConcurrent > 0 {
			fmt.Fprintf(w, " of %d", c.MaxConcurrent)
		}
		if c.Gate != "" {
			fmt.Fprintf(w, ", %s", c.Gate)
		}
		fmt.Fprintln(w)
	}
	if !r.Preview && a.ConnectionID != "" {
		fmt.Fprintf(w, "  give it up with: quotashare release %s %s\n", configfile.Show(r.APIKey), configfile.Show(a.RequestID))
	}
	return nil
}
