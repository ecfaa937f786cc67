package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/lab"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/trace"
)

// recorded are requests that somebody really made, as scenarios.
type recorded struct {
	Trace   []string `placeholder:"FILE" help:"A CSV trace of LLM inference: TIMESTAMP,ContextTokens,GeneratedTokens and perhaps Key. Several may be given."`
	History []string `placeholder:"FILE" help:"Events of consumption, one JSON document per line, as import reads them; - is standard input. Several may be given."`
	Deal    int      `default:"5" placeholder:"N" help:"Of a trace without keys: how many keys its rows are dealt to (5)."`
	Unit    string   `enum:"tokens,requests,usd" default:"tokens" help:"Of a history: what is counted, tokens, requests or usd (tokens)."`
	Windows int      `default:"5" placeholder:"N" help:"Over how many windows what was recorded is spread (5). The first is not measured."`
	Demand  int64    `default:"150" placeholder:"PERCENT" help:"How much of the limit what was recorded asks for, in the mean of all windows (150)."`
}

func (r *recorded) any() bool { return len(r.Trace)+len(r.History) > 0 }

// The bounds of what recorded requests are made into.
const (
	mostRecordedWindows = 100
	mostDemand          = 10_000
)

func (r *recorded) validate() error {
	switch {
	case r.Deal < 1 || r.Deal > mostKeys:
		return fmt.Errorf("--deal: %d is not from 1 to %d", r.Deal, mostKeys)
	case r.Windows < 2 || r.Windows > mostRecordedWindows:
		return fmt.Errorf("--windows: %d is not from 2 to %d", r.Windows, mostRecordedWindows)
	case r.Demand < 1 || r.Demand > mostDemand:
		return fmt.Errorf("--demand: %d is not from 1 to %d percent", r.Demand, mostDemand)
	case slices.Contains(r.Trace, "-"):
		return errors.New("--trace: standard input is for --history alone: name a file")
	}
	if at := slices.Index(r.History, "-"); at >= 0 && slices.Contains(r.History[at+1:], "-") {
		return errors.New("--history: standard input is read once: name - once")
	}
	return r.distinct()
}

// distinct refuses files whose scenarios, and pictures, would have one name.
func (r *recorded) distinct() error {
	files := map[string]string{}
	for _, file := range slices.Concat(r.Trace, r.History) {
		name := slug(recordedName(file))
		if other, twice := files[name]; twice {
			return fmt.Errorf("%s and %s would both be called %s: give one of them another name", other, file, name)
		}
		files[name] = file
	}
	return nil
}

// scenarios makes one of each file.
func (r *recorded) scenarios(ctx context.Context, p program.Process) (all []*lab.Scenario, err error) {
	add := func(file string, open func(io.Reader) *trace.Reader, unit quota.Unit) error {
		rows, err := recordedRows(ctx, file, p, open, unit)
		if err != nil {
			return err
		}
		s, err := lab.Trace(recordedName(file), rows, quota.Hourly, r.Windows, r.Demand)
		if err != nil {
			return fmt.Errorf("%s: %w", shownFile(file), err)
		}
		all = append(all, s)
		return nil
	}
	for _, file := range r.Trace {
		azure := func(src io.Reader) *trace.Reader {
			return trace.NewAzure(src, trace.Options{Name: file}, trace.Deal{ConnectionID: file, Keys: r.Deal})
		}
		if err := add(file, azure, quota.Tokens); err != nil {
			return nil, err
		}
	}
	unit, _ := quota.ParseUnit(r.Unit) // kong has seen to it
	for _, file := range r.History {
		ndjson := func(src io.Reader) *trace.Reader { return trace.NewNDJSON(src, trace.Options{Name: file}) }
		if err := add(file, ndjson, unit); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// recordedName is what the scenario of a file is called.
func recordedName(file string) string {
	if file == "-" {
		return "stdin"
	}
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}

func shownFile(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// recordedRows reads the requests of a file. The first line that cannot be read ends it: a
// comparison of rules on a part of what happened would be of something else.
func recordedRows(ctx context.Context, file string, p program.Process, open func(io.Reader) *trace.Reader, unit quota.Unit) ([]lab.Row, error) {
	src, _, err := (&importCmd{File: file}).open(ctx, p.Stdin)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	lines := open(src)
	var rows []lab.Row
	var items []events.Item
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF) && len(rows) == 0:
			return nil, fmt.Errorf("%s: there is no request in it that uses any %s", shownFile(file), unit)
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", shownFile(file), err)
		}
		if err = line.Err; err == nil && !otherKind(line.Event) {
			items = events.Decode(&events.Message{Subject: events.Consumption.Subject(""), Data: line.Event}, items[:0])
			rows, err = appendRequests(rows, items, unit)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", shownFile(file), line.Line, err)
		}
	}
}

// otherKind reports whether a line is an event that is no request: import takes
// corrections and readings too, and export writes corrections.
func otherKind(line []byte) bool {
	var doc struct{ Type string }
	if !bytes.Contains(line, []byte(`"type"`)) || json.Unmarshal(line, &doc) != nil {
		return false
	}
	kind, known := events.ParseKind(doc.Type)
	return known && kind != events.Consumption
}

var errNoTime = errors.New("time is missing: a history says when each request was")

// appendRequests adds the events of a line, but not those that used nothing of the unit.
func appendRequests(rows []lab.Row, items []events.Item, unit quota.Unit) ([]lab.Row, error) {
	for i := range items {
		e := &items[i].Event
		switch {
		case items[i].Err != nil:
			return rows, items[i].Err
		case e.Time == 0:
			return rows, errNoTime
		case e.Cost[unit] > 0:
			rows = append(rows, lab.Row{At: e.Time, Tokens: int64(e.Cost[unit]), Key: strings.Clone(e.APIKeyID)})
		}
	}
	return rows, nil
}
