package main

import (
	"context"
	"fmt"
	"io"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/wire"
)

type releaseCmd struct {
	APIKey   string   `arg:"" name:"key" help:"The API key."`
	Requests []string `arg:"" name:"request" help:"The requests to give up, by the ids they were held with."`
	JSON     bool     `name:"json" help:"Print the answer as it came."`
	server   `embed:"" group:"Configuration"`
}

func (r *releaseCmd) run(ctx context.Context, p program.Process) error {
	c, err := r.client()
	if err != nil {
		return err
	}
	answer, err := c.do(ctx, "POST", "/api/quota/release", "application/json", r.releases())
	if err != nil {
		return err
	}
	if r.JSON {
		return show(p.Stdout, answer)
	}
	return r.say(p.Stdout, answer)
}

func (r *releaseCmd) releases() []byte {
	w := wire.NewWriter(nil, wire.JSON)
	w.Array()
	for _, id := range r.Requests {
		w.Object()
		w.Name("apiKeyId")
		w.String(r.APIKey)
		w.Name("requestId")
		w.String(id)
		w.End()
	}
	w.End()
	return w.Bytes()
}

// say tells of each request; the first that was refused is the error.
func (r *releaseCmd) say(w io.Writer, answer []byte) (first error) {
	var doc struct {
		Results []struct {
			Seq   uint64
			Error *refused
		}
	}
	if err := readFields(answer, &doc); err != nil {
		return err
	}
	if len(doc.Results) != len(r.Requests) {
		return fmt.Errorf("the engine's answer has %d results to %d releases", len(doc.Results), len(r.Requests))
	}
	for i, result := range doc.Results {
		id := configfile.Show(r.Requests[i])
		switch {
		case result.Error == nil:
			fmt.Fprintf(w, "%s is given up, as of event %d; what was held under that name, if anything, is free\n", id, result.Seq)
		case first == nil:
			first = fmt.Errorf("%s: %w", id, result.Error)
		}
	}
	return first
}
