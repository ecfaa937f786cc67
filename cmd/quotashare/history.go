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

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
)

type changesCmd struct {
	After  uint64 `placeholder:"SEQ" help:"Only those after this event of the log."`
	Limit  int    `default:"50" help:"How many at most, of the newest."`
	JSON   bool   `name:"json" help:"Print them as the engine has them, with the documents."`
	server `embed:"" group:"Configuration"`
}

func (h *changesCmd) run(ctx context.Context, p program.Process) error {
	if h.Limit < 1 {
		return errors.New("--limit is below 1")
	}
	c, err := h.client()
	if err != nil {
		return err
	}
	newest, total, err := c.changes(ctx, h.After, h.Limit)
	if err != nil {
		return err
	}
	if h.JSON {
		return show(p.Stdout, fmt.Appendf(nil, `{"changes":[%s],"next":null}`, joined(newest)))
	}
	return sayChanges(p.Stdout, newest, total)
}

// changes returns the newest changes of the configuration after an event, in the
// order of the log, and how many there are. The engine gives them from the oldest.
func (c *client) changes(ctx context.Context, after uint64, most int) (newest []json.RawMessage, total int, err error) {
	for next := &after; next != nil; {
		q := url.Values{"after": {strconv.FormatUint(*next, 10)}, "limit": {"1000"}}
		answer, err := c.get(ctx, "/api/quota/changes", q)
		if err != nil {
			return nil, 0, err
		}
		var page struct {
			Changes []json.RawMessage
			Next    *uint64
		}
		if err := readFields(answer, &page); err != nil {
			return nil, 0, err
		}
		total += len(page.Changes)
		newest = append(newest, page.Changes...)
		newest = newest[max(0, len(newest)-most):]
		next = page.Next
	}
	return newest, total, nil
}

// changed is one change of the configuration.
type changed struct {
	Seq                             uint64
	Time, Kind, ID, Change, Subject string
	Actor, Reason                   string
	Rejected                        *struct{ Reason string }
}

func sayChanges(w io.Writer, newest []json.RawMessage, total int) error {
	rows := [][]string{{"SEQ", "TIME", "WHO", "WHAT", "WHY"}}
	for _, doc := range newest {
		var c changed
		if err := readFields(doc, &c); err != nil {
			return err
		}
		rows = append(rows, []string{strconv.FormatUint(c.Seq, 10), c.Time, named(c.Actor), c.what(), orDash(oneLine(c.Reason))})
	}
	if err := table(w, rows...); err != nil {
		return err
	}
	if hidden := total - len(newest); hidden > 0 {
		fmt.Fprintf(w, "and %d older: --limit shows more\n", hidden)
	}
	return nil
}

// oneLine is a text of somebody else's, in quotes if it could move the cursor.
func oneLine(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// what says what became of which document. An event that is none of
// configuration has its subject alone.
func (c *changed) what() string {
	text := c.Kind
	switch {
	case c.Kind == "":
		text = configfile.Show(c.Subject)
	case c.ID != "":
		text += " " + configfile.Show(c.ID)
	}
	switch c.Change {
	case "put":
		text += ": set"
	case "delete":
		text += ": deleted"
	}
	if c.Rejected != nil {
		text += ", refused (" + c.Rejected.Reason + ")"
	}
	return text
}
