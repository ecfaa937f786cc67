package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"time"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/livelog"
	"github.com/quotashare/quotashare/wire"
)

type explainCmd struct {
	Decision   string `arg:"" optional:"" name:"decision" help:"The id of a decision, as an answer or a message has it."`
	APIKey     string `name:"key" placeholder:"KEY" help:"Or what this API key would have been answered,"`
	Connection string `short:"c" xor:"where" help:"on this connection,"`
	Pool       string `short:"p" xor:"where" help:"or in this pool,"`
	At         string `placeholder:"TIME" help:"at that time, RFC 3339 or epoch milliseconds,"`
	Seq        uint64 `placeholder:"SEQ" help:"or after that message of the log; with --at, at that time after that message."`
	Model      string `help:"The model it wanted to use."`
	Requests   string `placeholder:"N" help:"Estimate: requests; 1 with --reserve."`
	Tokens     string `placeholder:"N" help:"Estimate: tokens."`
	USD        string `name:"usd" placeholder:"N" help:"Estimate: dollars."`
	Percent    string `placeholder:"N" help:"Estimate: points of the provider's 100."`
	Reserve    bool   `help:"As a request that is to be held; in a pool, its connection is chosen."`
	RequestID  string `placeholder:"ID" help:"The name of the request: its own hold is left out."`
	Top        int    `default:"10" placeholder:"N" help:"How many events, holds and keys are listed (${default})."`
	JSON       bool   `name:"json" help:"Print the explanation as JSON."`
	copied     `embed:""`
	server     `embed:"" group:"Configuration"`
}

// Validate refuses, for kong, what does not say which answer is meant.
func (x *explainCmd) Validate() error {
	switch named := len(x.fields()) > 0 || x.At != "" || x.Seq != 0; {
	case x.Decision != "" && named:
		return errors.New("a decision names a question and an instant of its own: leave out the flags that do too")
	case x.Decision == "" && x.APIKey == "":
		return errors.New("name a decision by its id, or a question by --key, --connection or --pool, and --at")
	case x.Top < 1 || x.Top > httpapi.MaxTop:
		return fmt.Errorf("--top is %d: use a whole number from 1 to %d", x.Top, httpapi.MaxTop)
	}
	return nil
}

// explainFor is how long an explanation may take.
const explainFor = 90 * time.Second

func (x *explainCmd) run(ctx context.Context, p program.Process) error {
	if err := times(timeFlag{"--at", x.At}); err != nil {
		return err
	}
	explain := x.ask
	if x.DataDir != "" {
		explain = x.find
	}
	made, err := explain(ctx, p)
	if err != nil {
		return err
	}
	if x.JSON {
		return show(p.Stdout, made)
	}
	return sayExplained(p.Stdout, made)
}

// ask has the engine explain it.
func (x *explainCmd) ask(ctx context.Context, _ program.Process) ([]byte, error) {
	c, err := x.client()
	if err != nil {
		return nil, err
	}
	c.http.Timeout = explainFor
	q := url.Values{"top": {strconv.Itoa(x.Top)}}
	for _, f := range append(x.fields(), given{"decisionId", x.Decision}, given{"at", x.At}) {
		if f.value != "" {
			q.Set(f.name, f.value)
		}
	}
	if x.Seq != 0 {
		q.Set("seq", strconv.FormatUint(x.Seq, 10))
	}
	return c.get(ctx, "/api/quota/explain", q)
}

// fields are those of the question.
func (x *explainCmd) fields() []given {
	d := decideCmd{
		APIKey: x.APIKey, Connection: x.Connection, Pool: x.Pool, Model: x.Model,
		Requests: x.Requests, Tokens: x.Tokens, USD: x.USD, Percent: x.Percent, Reserve: x.Reserve, RequestID: x.RequestID,
	}
	return d.fields()
}

// find explains it from a copy of a data directory.
func (x *explainCmd) find(ctx context.Context, p program.Process) (made []byte, err error) {
	asked := replay.Ask{Seq: x.Seq, DecisionID: x.Decision, Top: x.Top}
	if x.Decision == "" {
		if asked.Question, err = x.question(); err != nil {
			return nil, err
		}
		if x.At != "" {
			if asked.At, err = quota.ParseInstant(x.At); err != nil {
				return nil, err
			}
		}
	}
	log, err := x.openCopy(ctx, "", p)
	if err != nil {
		return nil, err
	}
	defer log.close()
	if x.Decision != "" {
		if asked.Recorded, err = x.recorded(ctx, log, p); err != nil {
			return nil, err
		}
	}
	found, err := replay.Explain(ctx, log.Options, &asked)
	if err != nil {
		return nil, err
	}
	return found.Append(nil), nil
}

// question reads the flags as the engine reads a question.
func (x *explainCmd) question() (questions.Question, error) {
	var r questions.Request
	read := r.Decode
	if x.Reserve && x.Connection == "" {
		read = r.DecodeRoute
	}
	if err := read(document(x.fields(), func(*wire.Writer) {}), wire.JSON); err != nil {
		return questions.Question{}, errors.New(err.Message)
	}
	return r.Questions[0], nil
}

// errFound ends the reading of the decision log.
var errFound = errors.New("found")

func (x *explainCmd) recorded(ctx context.Context, log *opened, p program.Process) (found *questions.Record, err error) {
	rows, err := livelog.NATSRows(log.conn, program.Logger(p.Stderr, slog.LevelWarn))
	if err != nil {
		return nil, err
	}
	err = rows.Each(ctx, func(r *questions.Record) error {
		if !r.Names(x.Decision) {
			return nil
		}
		found = r
		return errFound
	})
	switch {
	case found != nil:
		return found, nil
	case err != nil:
		return nil, err
	}
	return nil, program.Hint(fmt.Errorf("no decision %q is recorded", x.Decision), "every block is, for 14 days, and of the rest a sample; of more than 101 equal blocks within a second the ids of the first 100 and of the last are kept: ask with --key, --connection and --at instead")
}
