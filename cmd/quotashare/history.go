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
	inCopy `embed:""`
	server `embed:"" group:"Configuration"`
}

func (h *changesCmd) run(ctx context.Context, p program.Process) error {
	if h.Limit < 1 {
		return errors.New("--limit is below 1")
	}
	read, end, err := h.reader(ctx, p)
	if err != nil {
		return err
	}
	defer end()
	newest, total, err := changes(ctx, read, h.After, h.Limit)
	if err != nil {
		return err
	}
	if h.JSON {
		return show(p.Stdout, fmt.Appendf(nil, `{"changes":[%s],"next":null}`, joined(newest)))
	}
	return sayChanges(p.Stdout, newest, total)
}

// changesAtOnce is how many are read of a log at once.
const changesAtOnce = 1000

// changesReader returns a page of changes after an event, and after which event to go
// on, 0 = there are no more.
type changesReader func(ctx context.Context, after uint64) (page []json.RawMessage, next uint64, err error)

// reader asks the engine, or the copy. end ends the reading.
func (h *changesCmd) reader(ctx context.Context, p program.Process) (read changesReader, end func(), err error) {
	if h.DataDir != "" {
		return h.inCopy.changes(ctx, p)
	}
	c, err := h.client()
	if err != nil {
		return nil, nil, err
	}
	return c.changes, func() {}, nil
}

// changes is a changesReader.
func (c *client) changes(ctx context.Context, after uint64) ([]json.RawMessage, uint64, error) {
	q := url.Values{"after": {strconv.FormatUint(after, 10)}, "limit": {strconv.Itoa(changesAtOnce)}}
	answer, err := c.get(ctx, "/api/quota/changes", q)
	if err != nil {
		return nil, 0, err
	}
	var page struct {
		Changes []json.RawMessage
		Next    uint64
	}
	err = readFields(answer, &page)
	return page.Changes, page.Next, err
}

// changes reads the newest changes of the configuration after an event, in the order of
// the log, and how many there are. They come from the oldest on.
func changes(ctx context.Context, read changesReader, after uint64, most int) (newest []json.RawMessage, total int, err error) {
	for {
		page, next, err := read(ctx, after)
		if err != nil {
			return nil, 0, err
		}
		total += len(page)
		newest = append(newest, page...)
		newest = newest[max(0, len(newest)-most):]
		if next == 0 {
			return newest, total, nil
		}
		after = next
	}
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
