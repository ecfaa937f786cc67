package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
)

type decisionsCmd struct {
	Key        string `help:"Only those that this API key asked for."`
	Connection string `short:"c" help:"Only those about this connection."`
	Pool       string `short:"p" help:"Only those by the rules of this pool."`
	Decision   string `placeholder:"WHAT" help:"Only block, would-block (a pool that observes let it pass) or allow."`
	Reason     string `help:"Only those with this reason, such as fair-share."`
	From       string `placeholder:"TIME" help:"Only those from then on, RFC 3339 or epoch milliseconds."`
	To         string `placeholder:"TIME" help:"Only those before then."`
	ID         string `name:"id" help:"Only the decision of this id, with those that it is one row with."`
	Limit      int    `default:"50" help:"How many at most, of the newest."`
	JSON       bool   `name:"json" help:"Print them as the engine has them, with question and reply."`
	inCopy     `embed:""`
	server     `embed:"" group:"Configuration"`
}

func (d *decisionsCmd) run(ctx context.Context, p program.Process) error {
	if d.Limit < 1 {
		return errors.New("--limit is below 1")
	}
	if err := times(timeFlag{"--from", d.From}, timeFlag{"--to", d.To}); err != nil {
		return err
	}
	if d.DataDir != "" {
		newest, more, err := d.inCopy.decisions(ctx, p, d.query(), d.Limit)
		if err != nil {
			return err
		}
		return d.say(p.Stdout, newest, more, "")
	}
	c, err := d.client()
	if err != nil {
		return err
	}
	newest, next, err := c.decisions(ctx, d.query(), d.Limit)
	if err != nil {
		return err
	}
	return d.say(p.Stdout, newest, next != "", next)
}

// say prints them. next is the place to go on before, "" = there is none.
func (d *decisionsCmd) say(w io.Writer, newest []json.RawMessage, more bool, next string) error {
	if d.JSON {
		tail := ""
		if next != "" {
			tail = `,"next":"` + next + `"`
		}
		return show(w, fmt.Appendf(nil, `{"decisions":[%s]%s}`, joined(newest), tail))
	}
	if d.ID != "" && len(newest) == 0 {
		return d.sayNone(w)
	}
	return sayDecisions(w, newest, more)
}

// sayNone is for who has an id from an answer or a message, and would take a bare
// heading for a fault.
func (d *decisionsCmd) sayNone(w io.Writer) error {
	left := ""
	if len(d.query()) > 1 {
		left = " that the other flags leave"
	}
	_, err := fmt.Fprintf(w, "nothing is recorded under the id %s%s; of allows only a sample is, see the setting decisionSampleRate\n", configfile.Show(d.ID), left)
	return err
}

// query has the filters that were given.
func (d *decisionsCmd) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"apiKeyId": d.Key, "connectionId": d.Connection, "poolId": d.Pool, "decision": d.Decision, "reason": d.Reason,
		"from": d.From, "to": d.To, "decisionId": d.ID,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// decisions returns the newest decisions that the query leaves, and the place to
// go on before, "" when these are all. The engine may give a few at a time.
func (c *client) decisions(ctx context.Context, q url.Values, most int) (newest []json.RawMessage, next string, err error) {
	for {
		q.Set("limit", strconv.Itoa(min(most-len(newest), 1000)))
		answer, err := c.get(ctx, "/api/quota/decisions", q)
		if err != nil {
			return nil, "", err
		}
		var page struct {
			Decisions []json.RawMessage
			Next      string
		}
		if err := readFields(answer, &page); err != nil {
			return nil, "", err
		}
		newest = append(newest, page.Decisions...)
		if page.Next == "" || len(newest) >= most {
			return newest, page.Next, nil
		}
		q.Set("before", page.Next)
	}
}

// decided is one row of the decision log.
type decided struct {
	Time, DecisionID, ConnectionID, PoolID string
	Count                                  int
	Question                               struct{ APIKeyID, Model string }
	Reply                                  struct {
		Decision, Reason string
		WouldBlock       bool
	}
}

func sayDecisions(w io.Writer, newest []json.RawMessage, more bool) error {
	rows := [][]string{{"TIME", "DECISION", "REASON", "KEY", "CONNECTION", "POOL", "MODEL", "COUNT", "ID"}}
	for _, doc := range newest {
		var d decided
		if err := readFields(doc, &d); err != nil {
			return err
		}
		what := d.Reply.Decision
		if d.Reply.WouldBlock {
			what = "would-block"
		}
		rows = append(rows, []string{
			d.Time, what, d.Reply.Reason, configfile.Show(d.Question.APIKeyID), named(d.ConnectionID), named(d.PoolID), named(d.Question.Model),
			strconv.Itoa(d.Count), d.DecisionID,
		})
	}
	if err := table(w, rows...); err != nil {
		return err
	}
	if more {
		fmt.Fprintln(w, "and perhaps older ones: --limit shows more")
	}
	return nil
}
