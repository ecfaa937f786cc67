package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/decider"
	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/replay/livelog"
)

// inCopy is for who lists what a copy of a data directory has. No state is folded.
type inCopy struct {
	DataDir string `placeholder:"DIR" help:"Read this copy of a data directory, and ask no engine. The copy is opened for writing."`
}

func (f *inCopy) open(ctx context.Context, p program.Process) (*opened, error) {
	c := copied{DataDir: f.DataDir}
	return c.openCopy(ctx, "", p)
}

// changes makes a changesReader; end ends it.
func (f *inCopy) changes(ctx context.Context, p program.Process) (read changesReader, end func(), err error) {
	log, err := f.open(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(log.conn)
	if err != nil {
		log.close()
		return nil, nil, err
	}
	read = func(ctx context.Context, after uint64) (page []json.RawMessage, next uint64, err error) {
		list, next, err := decider.Changes(ctx, js, after, changesAtOnce)
		for i := range list {
			page = append(page, list[i].Append(nil))
		}
		return page, next, err
	}
	return read, log.close, nil
}

// decisions returns the newest decisions that the query leaves, at most so many, and
// whether there are more. As of an engine, the order is that of their times.
func (f *inCopy) decisions(ctx context.Context, p program.Process, query url.Values, most int) (newest []json.RawMessage, more bool, err error) {
	wanted, err := httpapi.ParseDecisionFilters(query)
	if err != nil {
		return nil, false, err
	}
	log, err := f.open(ctx, p)
	if err != nil {
		return nil, false, err
	}
	defer log.close()
	rows, err := livelog.NATSRows(log.conn, program.Logger(p.Stderr, slog.LevelWarn))
	if err != nil {
		return nil, false, err
	}
	type row struct {
		time int64
		doc  json.RawMessage
	}
	var kept []row
	notLater := func(a, b row) int {
		if a.time <= b.time {
			return -1
		}
		return 1
	}
	err = rows.Each(ctx, func(r *questions.Record) error {
		if !wanted.Wants(r) {
			return nil
		}
		// Rows of several processes lie in almost the order of their times.
		at, _ := slices.BinarySearchFunc(kept, row{time: r.Time}, notLater)
		if kept = slices.Insert(kept, at, row{r.Time, r.AppendJSON(nil)}); len(kept) > most {
			kept, more = kept[1:], true
		}
		return nil
	})
	for _, r := range slices.Backward(kept) {
		newest = append(newest, r.doc)
	}
	return newest, more, err
}
